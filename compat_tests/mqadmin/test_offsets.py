"""Our own commands about offsets, on the real server and on TriMQ, with consumers online and without."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compat_tests.mqadmin.case import BROKER
from compat_tests.mqadmin.filling import MEMBER, MOVED, MOVER, SENT
from compat_tests.mqadmin.stage import AdminStage
from compat_tests.mqadmin.tools import Printed
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import builds
from compat_tests.servers.server import Server
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue

pytestmark = pytest.mark.parametrize("kind", ["real", "trimq"])
OFFLINE = "OffsetsOffline"
# The stage's messages: one in the queues 0 and 2, two in 1, none in 3.
ENDS = [1, 2, 1, 0]


@pytest.fixture(scope="module")
def stage(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminStage]:
    """One of its own: cases of the others send to its topics, and here every offset counts."""
    made = AdminStage(launch, tmp_path_factory.mktemp("offsets"), builds()["pure"])
    yield made
    made.close()


class Side:
    """One server, and our tool on it."""

    def __init__(self, stage: AdminStage, kind: str) -> None:
        self.stage = stage
        self.kind = kind
        self.server: Server = stage.servers[kind]

    def run(self, *words: str) -> Printed:
        return self.stage.ours.run(self.server.namesrv_addr, words)

    def values(self, *words: str) -> list[dict[str, Any]]:
        printed = self.run(*words, "--json")
        assert printed.code == 0, printed.err
        return [json.loads(line) for line in printed.out.splitlines()]

    def committed(self, group: str, topic: str = SENT) -> list[int]:
        rows = self.values("offsets", "-g", group, "-t", topic)
        return [row["committedOffset"] for row in rows]

    def consumed(self) -> int:
        """How many messages the moved group has consumed so far."""
        return int(self.stage.official[self.kind].ask("count", self.server.namesrv_addr, MOVER).out)

    def wait_for(self, count: int) -> None:
        until(lambda: self.consumed() >= count, lambda: f"{self.consumed()} of {count} messages")

    @contextmanager
    def resets_by_members(self) -> Iterator[None]:
        self._set_by_broker("false")
        try:
            yield
        finally:
            self._set_by_broker("true")

    def _set_by_broker(self, value: str) -> None:
        setting = ("-k", "useServerSideResetOffset", "-v", value)
        assert self.run("updateBrokerConfig", "-b", self.server.broker_addr, *setting).code == 0


@pytest.fixture
def side(stage: AdminStage, kind: str) -> Iterator[Side]:
    """With a group that has read everything and has no member."""
    made = Side(stage, kind)
    with BlockingAdminClient(made.server.namesrv_addr) as admin:
        config = SubscriptionGroupConfig(group_name=OFFLINE)
        admin.put_group(made.server.broker_addr, config)
        for queue_id, end in enumerate(ENDS):
            queue = MessageQueue(broker_name=BROKER, queue_id=queue_id, topic=SENT)
            admin.commit_offset(made.server.broker_addr, OFFLINE, queue, end)
        yield made
        admin.delete_group(made.server.broker_addr, OFFLINE, True)


def test_an_online_group_queue_by_queue(side: Side) -> None:
    rows = side.values("offsets", "-g", MEMBER, "-t", SENT)
    assert [row["queueId"] for row in rows] == [0, 1, 2, 3]
    assert [row["maxOffset"] for row in rows] == [row["committedOffset"] for row in rows] == ENDS
    assert {row["minOffset"] for row in rows} == {0}
    assert {(row["backlog"], row["delayMillis"], row["remark"]) for row in rows} == {(0, 0, "")}
    assert all(MEMBER in row["client"] for row in rows)
    now = time.time() * 1000
    for row in rows[:3]:
        assert now - 3_600_000 < row["lastReadTimestamp"] <= row["lastConsumeTimestamp"] <= now


def test_all_topics_of_a_group_are_shown_and_moved(side: Side) -> None:
    with BlockingAdminClient(side.server.namesrv_addr) as admin:
        queue = MessageQueue(broker_name=BROKER, queue_id=3, topic=MOVED)
        admin.commit_offset(side.server.broker_addr, OFFLINE, queue, 1)
    topics = {row["topic"] for row in side.values("offsets", "-g", OFFLINE)}
    assert topics == {SENT, MOVED}
    rows = side.values("resetOffset", "-g", OFFLINE, "--all-topics", "--to", "earliest")
    assert len(rows) == 8
    assert side.committed(OFFLINE) == side.committed(OFFLINE, MOVED) == [0, 0, 0, 0]


def test_what_is_behind_has_a_delay(side: Side) -> None:
    assert side.run("resetOffset", "-g", OFFLINE, "-t", SENT, "--to", "earliest").code == 0
    rows = side.values("offsets", "-g", OFFLINE, "-t", SENT)
    assert [row["backlog"] for row in rows] == ENDS
    assert [row["delayMillis"] > 0 for row in rows] == [True, True, True, False]
    assert {row["client"] for row in rows} == {None}
    text = side.run("offsets", "-g", OFFLINE, "-t", SENT).out
    assert "Backlog: 4\n" in text


def test_an_offset_behind_the_end_is_shown_as_such(side: Side) -> None:
    with BlockingAdminClient(side.server.namesrv_addr) as admin:
        queue = MessageQueue(broker_name=BROKER, queue_id=1, topic=SENT)
        admin.commit_offset(side.server.broker_addr, OFFLINE, queue, 99)
    rows = side.values("offsets", "-g", OFFLINE, "-t", SENT)
    assert [row["remark"] for row in rows] == ["", "above max", "", ""]
    assert {row["backlog"] for row in rows} == {0}
    assert "(above max)" in side.run("offsets", "-g", OFFLINE, "-t", SENT).out


@pytest.mark.parametrize(
    ("words", "committed"),
    [
        (["-t", SENT, "--to", "earliest"], [0, 0, 0, 0]),
        (["-t", SENT, "--to", "0"], [0, 0, 0, 0]),
        (["-t", SENT, "--to", "max"], ENDS),
        (["-t", SENT, "-q", "1", "--to", "1"], [1, 1, 1, 0]),
        (["-t", SENT, "-q", "1", "-b", BROKER, "--to", "min"], [1, 0, 1, 0]),
        (["-t", SENT, "--to", "2001-01-01#00:00:00:000"], [0, 0, 0, 0]),
        (["-t", SENT, "--to", "4000000000000"], ENDS),
        (["--all-topics", "--to", "earliest"], [0, 0, 0, 0]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
@pytest.mark.parametrize("who", ["broker", "members"])
def test_an_offline_group_is_moved(
    side: Side, who: str, words: list[str], committed: list[int]
) -> None:
    if who == "broker":
        rows = side.values("resetOffset", "-g", OFFLINE, *words)
    else:
        with side.resets_by_members():
            rows = side.values("resetOffset", "-g", OFFLINE, *words)
    assert side.committed(OFFLINE) == committed
    chosen = [row["queue"]["queueId"] for row in rows]
    assert [row["from"] for row in rows] == [ENDS[queue] for queue in chosen]
    assert [row["to"] for row in rows] == [committed[queue] for queue in chosen]


def test_nothing_is_moved_when_one_queue_lacks_the_offset(side: Side) -> None:
    printed = side.run("resetOffset", "-g", OFFLINE, "-t", SENT, "--to", "1")
    assert printed.code == 1
    assert "queue 3 of topic" in printed.err
    assert side.committed(OFFLINE) == ENDS


def test_an_online_group_reads_again(side: Side) -> None:
    before = side.consumed()
    rows = side.values("resetOffset", "-g", MOVER, "-t", MOVED, "--to", "earliest")
    assert [row["to"] for row in rows] == [0, 0, 0, 0]
    side.wait_for(before + 4)
    before = side.consumed()
    assert side.run("resetOffset", "-g", MOVER, "-t", MOVED, "-q", "2", "--to", "0").code == 0
    side.wait_for(before + 1)


def test_members_are_told_to_read_again(side: Side) -> None:
    with side.resets_by_members():
        before = side.consumed()
        rows = side.values("resetOffset", "-g", MOVER, "-t", MOVED, "--to", "earliest")
        assert [row["to"] for row in rows] == [0, 0, 0, 0]
        side.wait_for(before + 4)


def test_members_cannot_be_told_of_a_topic_that_they_never_read(side: Side) -> None:
    with side.resets_by_members():
        for command in (["resetOffsetByTime", "-s", "0"], ["skipAccumulatedMessage"]):
            printed = side.run(*command, "-g", OFFLINE, "-t", MOVED)
            assert printed.code == 1
            assert f"THe consumer group <{OFFLINE}> not exist" in printed.err


def test_what_members_cannot_be_told_is_refused(side: Side) -> None:
    with side.resets_by_members():
        for words in (["-q", "1", "--to", "0"], ["--to", "0"]):
            printed = side.run("resetOffset", "-g", MOVER, "-t", MOVED, *words)
            assert printed.code == 1
            assert "leaves resets to the members" in printed.err
            assert "Traceback" not in printed.err
