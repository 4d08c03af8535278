"""Static topics over two brokers: two real ones and two of TriMQ's, by the official tool and by ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from compat_tests.cluster.static_cluster import (
    A,
    B,
    Cluster,
    Seen,
    StaticTopic,
    Tool,
    real_cluster,
    trimq_cluster,
)
from compat_tests.mqadmin.tools import OfficialTool, OurTool
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import builds
from tests.patience import until

FOLLOWED, FOLLOWER = "StaticFollowed", "StaticFollower"


class Clusters:
    """Both clusters and both tools; a topic's life is seen once on each."""

    def __init__(self, stack: ExitStack, launch: Launcher, folder: Path) -> None:
        self.official = OfficialTool(folder)
        stack.callback(self.official.close)
        ours = OurTool(folder)
        stack.callback(ours.close)
        self.tools: dict[str, Tool] = {"official": self.official, "ours": ours}
        trimq = trimq_cluster(folder / "trimq", builds()["pure"])
        self.clusters: dict[str, Cluster] = {
            "trimq": stack.enter_context(trimq),
            "real": stack.enter_context(real_cluster(launch, folder / "real")),
        }
        self._seen: dict[tuple[str, str], Seen] = {}
        # Its consumers need half a minute to see a new route: let them have it while others play.
        self.followed = {kind: self._follow(kind) for kind in self.clusters}

    def received(self, kind: str) -> list[str]:
        """What the consumer of the followed topic has got, each once: a queue that moves may bring a message again."""
        return sorted(set(self.official.ask("received", f"{FOLLOWER}-{kind}").out.split()))

    def _wait_for(self, kind: str, bodies: list[str], seconds: float = 240) -> None:
        try:
            until(lambda: self.received(kind) == bodies, "everything is consumed", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.received(kind)} of {bodies}") from error

    def wait_for_all(self, kind: str) -> None:
        self._wait_for(kind, self.followed[kind])

    def _follow(self, kind: str) -> list[str]:
        """Write a topic's queues, move them, and so on; returns all bodies."""
        namesrv = self.clusters[kind].namesrv_addr

        def tell(command: str, *words: str) -> None:
            done = self.tools["ours"].run(namesrv, [command, "-t", FOLLOWED, *words])
            assert done.code == 0, done.err

        tell("updateStaticTopic", "-b", f"{A},{B}", "-qn", "2")
        self.official.ask("consumer", namesrv, f"{FOLLOWER}-{kind}", FOLLOWED, "*")
        bodies: list[str] = []
        for target in (B, A, None):
            for number in range(4):
                bodies.append(f"body-{len(bodies):02}")
                where = ["-b", "__syslo__global__", "-i", str(number % 2)]
                words = ["sendMessage", "-t", FOLLOWED, "-p", bodies[-1], *where]
                # The tool asks for the route each time, and gives up when a busy server is late.
                until(partial(self._sends, namesrv, words), "it is sent")
            if len(bodies) == 4:
                # A group without an offset begins at a queue's end when that is not the first part of it.
                self._wait_for(kind, bodies)
            if target is not None:
                tell("remappingStaticTopic", "-b", target)
        return bodies

    def _sends(self, namesrv: str, words: list[str]) -> bool:
        return "SEND_OK" in self.official.run(namesrv, words).out

    def seen(self, kind: str, tool: str) -> Seen:
        key = (kind, tool)
        if key not in self._seen:
            topic = StaticTopic(self.clusters[kind], self.tools[tool], f"Static{tool.title()}")
            self._seen[key] = topic.life()
        return self._seen[key]


@pytest.fixture(scope="module")
def clusters(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    with ExitStack() as stack:
        yield Clusters(stack, launch, tmp_path_factory.mktemp("static"))


STEPS = (
    *("not there", "made", "on a", "moved to b", "on b", "held on b", "moved to a"),
    *("on a again", "grown", "four queues", "not shrunk"),
)


@pytest.mark.parametrize("side", [("trimq", "official"), ("real", "ours"), ("trimq", "ours")])
@pytest.mark.parametrize("step", STEPS)
def test_same_answers(clusters: Clusters, step: str, side: tuple[str, str]) -> None:
    expected = clusters.seen("real", "official")
    assert tuple(expected) == STEPS
    assert clusters.seen(*side)[step] == expected[step]


def test_what_is_compared_is_what_is_meant(clusters: Clusters) -> None:
    seen = clusters.seen("real", "official")
    assert [seen[step] for step in ("made", "moved to b", "moved to a", "grown")] == [True] * 4
    assert seen["on a again"]["place"]["parts"][A] == [
        (A, 0, 0, 0, -1),
        (B, 1, 10_000, 0, -1),
        (A, 2, 20_000, 0, -1),
    ]
    # An earlier part is read through the leader, wherever it lies.
    assert seen["on b"][f"{B} pulls"][0]["ext"]["maxOffset"] == "10000"
    _, body, _ = seen["on b"][f"{B} pulls"][0]["body"][0]
    assert body.startswith(A)
    assert seen["on b"][f"{A} sends"][0]["code"] == 501


@pytest.mark.parametrize("kind", ["trimq", "real"])
def test_official_clients_follow_a_queue(clusters: Clusters, kind: str) -> None:
    clusters.wait_for_all(kind)
