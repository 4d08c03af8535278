"""SYNC_MASTER with inSyncReplicas=2 under load while its slave and itself are stopped, killed and replaced: the history
checker finds nothing (tests/history)."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.calls import Change, Role
from tests.history.committed import Periods
from tests.history.findings import Rule
from tests.history.logs import compare_logs
from tests.history.running import Plan, Run, check_store, play
from tests.trimq.replication.pair import NAME, Pair

# Offsets are saved every 0.2 s, and asked for by slaves every minute.
PERIODS = Periods(save=4.2, sync=75)
SECONDS = 6


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path / "pair")
    made.start()
    yield made
    made.end()


def seconds(request: pytest.FixtureRequest) -> float:
    return 120 if request.config.getoption("--soak", default=False) else SECONDS


def stop_slave(pair: Pair, run: Run) -> None:
    """It is silent, and then goes on as if nothing had been."""
    with run.marked(Change.CUT, NAME):
        pair.slave.send(signal.SIGSTOP)
        time.sleep(2)
        pair.slave.send(signal.SIGCONT)


def cut_link(pair: Pair, run: Run) -> None:
    assert pair.relay is not None
    with run.marked(Change.CUT, NAME):
        pair.relay.cut()
        time.sleep(1)
        pair.relay.heal()


def one_way(pair: Pair, run: Run) -> None:
    """The slave gets everything, and nobody hears of it."""
    assert pair.relay is not None
    with run.marked(Change.CUT, NAME):
        pair.relay.silent = {"up"}
        time.sleep(2)
        pair.relay.heal()


def throttle(pair: Pair, run: Run) -> None:
    """1 MB/s for a while."""
    assert pair.relay is not None
    with run.marked(Change.CUT, NAME):
        pair.relay.rate = 1_000_000
        time.sleep(2)
        pair.relay.heal()


def kill_slave(pair: Pair, run: Run) -> None:
    with run.marked(Change.CUT, NAME):
        pair.slave.end()
        pair.slave.start()


def kill_master(pair: Pair, run: Run) -> None:
    with run.marked(Change.KILL, NAME):
        pair.master.end()
        pair.master.start()


def fail_over(pair: Pair, run: Run) -> None:
    """The master is gone for good, and the slave's store gets one."""
    with run.marked(Change.ROLE, NAME):
        pair.members.master = None
        pair.master.end()
        pair.members.slaves = []
        pair.slave.end()
        pair.slave.settings |= {"brokerRole": "ASYNC_MASTER", "brokerId": 0}
        pair.members.master = pair.slave.start()


def checked(pair: Pair, plan: Plan, tmp_path: Path, *disturb: object) -> None:
    try:
        report = play([pair.members], plan, tmp_path / "journal", list(disturb))  # type: ignore[arg-type]
    except BaseException as error:
        error.add_note(
            f"master:\n{pair.master.said()[-3000:]}\nslave:\n{pair.slave.said()[-3000:]}"
        )
        raise
    print(report)
    assert not report.findings, report
    assert report.counts["done sends"] > 50, report


def check_copies(pair: Pair) -> None:
    for broker in (pair.slave, pair.master):
        broker.end(signal.SIGTERM)
        assert not check_store(broker.store)
    compared = compare_logs(pair.master.store / "commitlog", pair.slave.store / "commitlog")
    assert not compared.findings
    assert compared.bytes


def test_nothing_acknowledged_is_lost(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = Plan(seconds=seconds(request), periods=PERIODS, between=0.002)
    disturb = [stop_slave, kill_slave, kill_master, kill_slave]
    checked(pair, plan, tmp_path, *[lambda run, act=act: act(pair, run) for act in disturb])
    check_copies(pair)


def test_a_link_that_is_cut_silent_and_slow(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = Plan(seconds=seconds(request) + 3, periods=PERIODS, between=0.002, sizes=(100, 4000))
    disturb = [cut_link, one_way, throttle]
    checked(pair, plan, tmp_path, *[lambda run, act=act: act(pair, run) for act in disturb])
    check_copies(pair)


def test_the_slave_becomes_the_master(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = Plan(
        seconds=seconds(request), periods=PERIODS, between=0.002, groups={"Readers": Role.MASTER}
    )
    checked(pair, plan, tmp_path, lambda run: fail_over(pair, run))
    pair.slave.end(signal.SIGTERM)
    assert not check_store(pair.slave.store)


def test_the_checker_sees_what_was_acknowledged_too_soon(tmp_path: Path) -> None:
    """A master that does not wait, and a slave that is silent when it is lost."""
    pair = Pair(tmp_path / "pair", "acknowledged-before-copied")

    def lose_it(run: Run) -> None:
        pair.slave.send(signal.SIGSTOP)
        time.sleep(1)
        fail_over(pair, run)

    pair.start()
    try:
        plan = Plan(seconds=4, periods=PERIODS, between=0.002)
        report = play([pair.members], plan, tmp_path / "journal", [lose_it])
    finally:
        pair.end()
    assert Rule.ACKNOWLEDGED in {finding.rule for finding in report.findings}, report
