"""A TriMQ broker and a real broker under one NameServer, once TriMQ's, once the real one.

The yardstick is a cluster of two real brokers under a real NameServer: clients must see no difference.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests.comparing.records import Seen, assert_still
from compat_tests.scenarios.batches import JAVA_DRIVERS, JAVA_MIX, MIX, Case
from compat_tests.scenarios.driver import Driver, play
from compat_tests.scenarios.recorded import subject
from compat_tests.scenarios.stage import Stage, assert_same
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker, RealNameServer, wait_until_known
from compat_tests.servers.server import Options

SECOND = Options({"brokerName": "broker-b"})


@dataclass(frozen=True)
class Cluster:
    """A NameServer, broker-a and broker-b; looks like a server to the driver."""

    kind: str
    namesrv_addr: str
    broker_addr: str
    second_addr: str
    broker_pid: int = 0

    def restart(self) -> None:
        raise NotImplementedError

    kill9 = restart_namesrv = stop = restart


class Clusters:
    """Starts one cluster at a time: three JVMs are enough for a small machine."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._launch = stage.launch
        self._folder = folder
        self._records = stage.records
        # What the report names.
        self._again = stage.again
        self._seen: dict[tuple[str, str], dict[str, Seen]] = {}

    def expected(self, driver: Driver) -> dict[str, Seen]:
        """What two real brokers show."""
        mix = subject(driver, MIX, {})
        recorded = self._records.find(mix)
        if recorded.keys() >= set(JAVA_MIX) and not self._records.is_due(mix.name):
            return recorded
        seen = self.seen("all-real", driver)
        for scenario in recorded:
            assert_still(mix, recorded[scenario], seen[scenario])
        self._records.keep(mix, seen)
        return seen

    def seen(self, kind: str, driver: Driver) -> dict[str, Seen]:
        key = (kind, driver.name)
        if key not in self._seen:
            with ExitStack() as stack:
                cluster = self._start(kind, self._folder / kind, stack)
                for each in JAVA_DRIVERS:
                    self._seen[kind, each.name] = self._play(kind, each, cluster)
        return self._seen[key]

    def _play(self, kind: str, driver: Driver, cluster: Cluster) -> dict[str, Seen]:
        """On a busy machine a client's 3 s are soon over: what failed is played once more, and that counts."""
        seen: dict[str, Seen] = {}
        names, folder = list(JAVA_MIX), self._folder / f"{kind}-{driver.name}"
        for turn in ("", "-again"):
            played = play(driver, cluster, names, folder.with_name(folder.name + turn))
            seen |= {name: Seen.of(outcome, cluster) for name, outcome in played.items()}
            names = [name for name in names if seen[name].error is not None]
            if not names:
                break
            if not turn:
                self._again += [
                    (Case(driver, MIX, name), f"{kind}: {seen[name].error}") for name in names
                ]
        return seen

    def _start(self, kind: str, home: Path, stack: ExitStack) -> Cluster:
        cluster = self._start_servers(kind, home, stack)
        wait_until_known(cluster.namesrv_addr, ("broker-a", "broker-b"))
        return cluster

    def _start_servers(self, kind: str, home: Path, stack: ExitStack) -> Cluster:
        namesrv: RealNameServer | TrimqNameServer
        if kind == "trimq-namesrv":
            namesrv = TrimqNameServer(home / "namesrv")
            stack.callback(namesrv.stop)
        else:
            namesrv = RealNameServer(self._launch, home / "namesrv")
            stack.callback(namesrv.kill)
        namesrv.start()
        first = RealBroker(self._launch, home / "first", namesrv.addr, Options())
        stack.callback(first.kill)
        first.start()
        if kind == "all-real":
            real = RealBroker(self._launch, home / "second", namesrv.addr, SECOND)
            stack.callback(real.kill)
            real.start()
            return Cluster(kind, namesrv.addr, first.addr, real.addr)
        ours = TrimqServer(home / "second", SECOND, namesrv=namesrv.addr)
        stack.callback(ours.stop)
        ours.start()
        return Cluster(kind, namesrv.addr, first.addr, ours.broker_addr)


@pytest.fixture(scope="module")
def clusters(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Clusters:
    return Clusters(stage, tmp_path_factory.mktemp("mix"))


@pytest.mark.parametrize("kind", ["real-namesrv", "trimq-namesrv"])
@pytest.mark.parametrize("driver", JAVA_DRIVERS, ids=lambda driver: driver.name)
@pytest.mark.parametrize("scenario", JAVA_MIX)
def test_mixed_cluster(clusters: Clusters, scenario: str, driver: Driver, kind: str) -> None:
    assert_same(clusters.expected(driver)[scenario], clusters.seen(kind, driver)[scenario])
