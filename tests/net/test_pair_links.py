"""A pair under load on a network whose cables are cut, cut one way, throttled and late: the history checker finds
nothing, and the copies are equal (tests/history)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.history.calls import Change
from tests.history.checking import Report
from tests.history.committed import Periods
from tests.history.logs import compare_logs
from tests.history.running import Plan, Run, play
from tests.net.cluster import Cluster
from tests.trimq.replication.pair import NAME

# Offsets are saved every 0.2 s, and asked for by slaves every minute.
PERIODS = Periods(save=4.2, sync=75)
RATE = 1_000_000
Fault = Callable[[Cluster], None]


@contextmanager
def running(home: Path, late: tuple[str, ...] = (), **settings: object) -> Iterator[Cluster]:
    made = Cluster(home, late, **settings)
    try:
        made.start()
        yield made
    except BaseException as error:
        error.add_note(made.said())
        raise
    finally:
        made.end()


@pytest.fixture
def turns(request: pytest.FixtureRequest) -> int:
    """How often the faults come."""
    return 10 if request.config.getoption("--soak") else 1


def disturb(cluster: Cluster, fault: Fault, seconds: float, run: Run) -> None:
    with run.marked(Change.CUT, NAME):
        fault(cluster)
        time.sleep(seconds)
        cluster.net.heal()


def played(cluster: Cluster, turns: int, faults: list[tuple[Fault, float]], **plan: int) -> Report:
    """The clients are on a host of their own."""
    # Once in this order, and then in any.
    more = random.Random(1).choices(faults, k=len(faults) * (turns - 1))
    acts = [partial(disturb, cluster, fault, seconds) for fault, seconds in (*faults, *more)]
    rests = Plan(seconds=0.4 * (len(acts) + 1), periods=PERIODS, between=0.006, **plan)
    with cluster.net.inside("clients"):
        report = play([cluster.members], rests, cluster.home / "journal", acts)
    print(report)
    assert not report.findings, report
    assert report.counts["done sends"] > 50, report
    return report


def check_copies(cluster: Cluster) -> None:
    cluster.stop()
    compared = compare_logs(cluster.master.store / "commitlog", cluster.slave.store / "commitlog")
    assert not compared.findings
    assert compared.bytes


def cut(cluster: Cluster) -> None:
    cluster.net.cut("master", "slave")


def no_reports(cluster: Cluster) -> None:
    """The slave gets what is on its way, and nobody hears of it."""
    cluster.net.drop("slave", "master")


def no_log(cluster: Cluster) -> None:
    cluster.net.drop("master", "slave")


def throttled(cluster: Cluster) -> None:
    cluster.net.throttle("slave", RATE)


def no_answers(cluster: Cluster) -> None:
    """Clients send, and do not learn what became of it."""
    cluster.net.drop("master", "clients")


def no_names(cluster: Cluster) -> None:
    cluster.net.isolate("names")
    cluster.net.drop("names2", "slave")
    cluster.net.drop("master", "names2")


def all_late(cluster: Cluster) -> None:
    cluster.net.delay("slave", 0.05)


def test_the_links_of_a_pair(tmp_path: Path, turns: int) -> None:
    faults: list[tuple[Fault, float]] = [
        (cut, 2.0),
        (no_reports, 1.8),
        (no_log, 1.8),
        (no_answers, 0.5),
        (throttled, 1.0),
    ]
    with running(tmp_path / "cluster") as cluster:
        report = played(cluster, turns, faults)
        # Nobody who was told to wait for the slave was told that it is done.
        assert report.counts["refused sends"], report
        check_copies(cluster)
        assert "silent" in cluster.master.said() + cluster.slave.said()


def test_late_packets_and_name_servers_out_of_reach(tmp_path: Path, turns: int) -> None:
    faults: list[tuple[Fault, float]] = [(all_late, 1.2), (no_names, 1.2)]
    # Nobody is to be late because the machine is busy.
    with running(tmp_path / "cluster", late=("slave",), slaveTimeout=15_000) as cluster:
        report = played(cluster, turns, faults, timeout=20)
        # Sends and pulls ask nothing of a NameServer.
        assert not report.counts["refused sends"], report
        assert not report.counts["unknown sends"], report
        check_copies(cluster)
