"""SYNC_MASTER with inSyncReplicas=2 under load while its slave and itself are stopped, killed and replaced: the history
checker finds nothing (tests/history)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.servers.held_disk import HeldDisk, can_be_held
from tests.history.calls import Change, History, Role
from tests.history.committed import Periods
from tests.history.logs import compare_logs
from tests.history.reading import attempt_of
from tests.history.running import Plan, Run, check_store, play
from tests.trimq.replication.pair import NAME, Pair
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.blocking import BlockingClient

# Offsets are saved every 0.2 s, and asked for by slaves every minute.
PERIODS = Periods(save=4.2, sync=75)
SECONDS = 6
# Bytes a second of a link that is slow, and those of a large message.
SLOW, LARGE = 100_000, 40_000
# What says that bytes are a message.
RECORD = bytes.fromhex("daa320a7")


@pytest.fixture
def unstarted(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path / "pair")
    yield made
    made.end()


@pytest.fixture
def pair(unstarted: Pair) -> Pair:
    unstarted.start()
    return unstarted


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[HeldDisk]:
    if not can_be_held():
        pytest.skip("no C compiler: apt-get install gcc")
    held = HeldDisk(tmp_path)
    yield held
    held.let_go()


def is_soak(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--soak", default=False))


def seconds(request: pytest.FixtureRequest) -> float:
    return 120 if is_soak(request) else SECONDS


def stop_slave(pair: Pair, run: Run, how_long: float = 2) -> None:
    """It is silent, and then goes on as if nothing had been."""
    with run.marked(Change.CUT, NAME):
        pair.slave.send(signal.SIGSTOP)
        time.sleep(how_long)
        pair.slave.send(signal.SIGCONT)


def stop_slave_for_long(pair: Pair, run: Run) -> None:
    stop_slave(pair, run, 30)


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


def in_the_middle(pair: Pair) -> None:
    """Until a part of what was sent to the slave is on its way, on a link that takes a second for it."""
    assert pair.relay is not None
    pair.relay.rate = SLOW
    assert pair.members.master is not None
    with BlockingClient(pair.members.master, timeout=30) as client:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            body = client.request(RequestCode.GET_BROKER_HA_STATUS).body
            links = decode_body(HARuntimeInfo, body).ha_connection_info
            if any(link.slave_ack_offset > 0 and link.diff > SLOW // 4 for link in links):
                return
            time.sleep(0.01)
    raise AssertionError("the slave is never behind")


def kill_slave_in_the_middle(pair: Pair, run: Run) -> None:
    assert pair.relay is not None
    with run.marked(Change.CUT, NAME):
        in_the_middle(pair)
        pair.slave.end()
        pair.relay.heal()
        pair.slave.start()


def kill_master_in_the_middle(pair: Pair, run: Run) -> None:
    assert pair.relay is not None
    with run.marked(Change.KILL, NAME):
        in_the_middle(pair)
        pair.master.end()
        pair.relay.heal()
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
    if is_soak(request):
        links = [cut_link, one_way, throttle]
        disturb = [stop_slave_for_long, *random.Random(1).choices(disturb + links, k=60)]
    checked(pair, plan, tmp_path, *[lambda run, act=act: act(pair, run) for act in disturb])
    check_copies(pair)


def test_a_link_that_is_cut_silent_and_slow(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = Plan(seconds=seconds(request) + 3, periods=PERIODS, between=0.002, sizes=(100, 4000))
    disturb = [cut_link, one_way, throttle] * (20 if is_soak(request) else 1)
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


def test_either_is_killed_in_the_middle_of_a_transfer(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    acts = [kill_slave_in_the_middle, kill_master_in_the_middle]
    times = 10 if is_soak(request) else 1
    plan = Plan(seconds=len(acts) * times, periods=PERIODS, between=0.002, sizes=(100, LARGE))
    checked(pair, plan, tmp_path, *[lambda run, act=act: act(pair, run) for act in acts * times])
    check_copies(pair)


def test_the_disk_of_the_slave_is_full(unstarted: Pair, disk: HeldDisk, tmp_path: Path) -> None:
    pair = unstarted
    pair.slave.environment = disk.environment
    pair.start()

    def fill(run: Run) -> None:
        with run.marked(Change.CUT, NAME):
            disk.fill()
            time.sleep(1.5)
            disk.let_go()

    plan = Plan(seconds=2, periods=PERIODS, between=0.002)
    checked(pair, plan, tmp_path, fill)
    check_copies(pair)
    assert "No space left" in pair.slave.said()


def test_what_was_acknowledged_outlives_its_master(pair: Pair, tmp_path: Path) -> None:
    """The slave is silent, its link is closed, and then its store is all there is.

    Nobody reads: without a controller readers of a master see what its slaves have not got.
    """

    def lose_it(run: Run) -> None:
        pair.slave.send(signal.SIGSTOP)
        time.sleep(0.7)
        pair.slave.end()
        time.sleep(0.7)
        fail_over(pair, run)

    plan = Plan(seconds=3, periods=PERIODS, between=0.002, groups={})
    checked(pair, plan, tmp_path, lose_it)


def start_alone(pair: Pair) -> None:
    """A master without a slave, with SYNC_FLUSH."""
    pair.master.settings |= {
        "brokerRole": "ASYNC_MASTER",
        "inSyncReplicas": 1,
        "flushDiskType": "SYNC_FLUSH",
    }
    pair.members.master = pair.master.start()


def test_offsets_that_nobody_sees_yet_are_taken(unstarted: Pair, tmp_path: Path) -> None:
    """All producers send to one queue, and wait for the disk."""
    start_alone(unstarted)
    checked(unstarted, Plan(seconds=1, periods=PERIODS, queues=1, consumers=1), tmp_path)


def test_what_readers_saw_outlives_a_power_loss(
    unstarted: Pair, disk: HeldDisk, tmp_path: Path
) -> None:
    """SYNC_FLUSH on a disk that takes nothing more; then all is gone that it did not take."""
    pair, master = unstarted, unstarted.master
    master.environment = disk.environment

    def lose_power(run: Run) -> None:
        with run.marked(Change.KILL, NAME):
            disk.hold()
            # Whatever is on the disk is acknowledged when that is over.
            time.sleep(1)
            master.end()
            lose_unacknowledged(master.store / "commitlog", run.journal.read())
            disk.let_go()
            master.start()

    start_alone(pair)
    checked(pair, Plan(seconds=3, periods=PERIODS, between=0.002), tmp_path, lose_power)
    master.end(signal.SIGTERM)
    assert not check_store(master.store)


def lose_unacknowledged(log: Path, history: History) -> None:
    """Whatever lies behind the last message that was acknowledged."""
    acknowledged = {it for send in history.sends if send.is_done for it in send.attempts}
    end, records = 0, 0
    for path in sorted(log.iterdir()):
        data, at = path.read_bytes(), 0
        while data[at + 4 : at + 8] == RECORD:
            record = parse_record(data, at)
            at += record.total_size
            records += 1
            if attempt_of(record.body) in acknowledged:
                end = int(path.name) + at
    assert records
    for path in log.iterdir():
        keep = max(end - int(path.name), 0)
        if keep < path.stat().st_size:
            size = path.stat().st_size
            os.truncate(path, keep)
            os.truncate(path, size)
