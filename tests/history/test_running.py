"""A whole server under the checker's clients: right under a kill -9, found out when its store is tampered with."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.history.calls import Change, Journal, Role
from tests.history.checking import check, check_copies
from tests.history.clients import Line, Members, Producer
from tests.history.committed import Periods
from tests.history.logs import compare_logs
from tests.history.running import Disturbance, Plan, Run, check_store, play, prepare, read_copies
from tests.trimq.clock.jumping import JUMPS
from tests.trimq.clock.set_server import set_clock
from tests.trimq.serving.killed import Server

LOG_FILE = 128 * 1024
# More than what the producers may have under way, none of it acknowledged: four batches of four, below 200 bytes each.
LOST = 8000
SETTINGS = {
    "brokerName": "broker-a",
    "flushDiskType": "SYNC_FLUSH",
    "mappedFileSizeCommitLog": LOG_FILE,
    "flushConsumerOffsetInterval": 200,
    "flushConsumeQueueThoroughInterval": 700,
}
# The interval, and what a busy machine adds until the file is written.
PERIODS = Periods(save=4.2, sync=0)


class Broker:
    """One server after the other on a store; wherever it is, `members` says so."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.clock: Path | None = None
        self.store, self.log = folder / "store", folder / "server.log"
        self._server: Server | None = None
        self.members = Members("broker-a", None)

    def start(self) -> str:
        self._server = Server(self.store, self.log, SETTINGS, clock=self.clock)
        self._server.wait_ready()
        # To itself it is a slave as well: it answers both kinds of readers.
        self.members.master = self._server.broker_addr
        self.members.slaves = [self._server.broker_addr]
        return self._server.broker_addr

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()


def play_with(broker: Broker, plan: Plan, *disturb: Disturbance) -> str:
    """The rules of what is found; the end is a kill, so that the store can be looked at."""
    broker.start()
    try:
        report = play([broker.members], plan, broker.log.with_name("journal"), disturb)
    except BaseException as error:
        error.add_note(f"the server said:\n{broker.log.read_text()[-3000:]}")
        raise
    finally:
        broker.kill()
    print(report)
    assert report.counts["done sends"] > 20
    assert report.counts["pulled messages"] >= 20
    return "".join(sorted({finding.rule for finding in report.findings}))


def test_a_kill_9_in_the_middle(tmp_path: Path, times: int) -> None:
    broker = Broker(tmp_path)

    def kill(run: Run) -> None:
        with run.marked(Change.KILL, "broker-a"):
            broker.kill()
            broker.start()

    groups = {"Readers": Role.MASTER, "Behind": Role.SLAVE}
    plan = Plan(seconds=3 * times, groups=groups, between=0.002, periods=PERIODS)
    assert play_with(broker, plan, *[kill] * times) == ""
    assert check_store(broker.store) == []


def test_a_clock_that_jumps(tmp_path: Path, times: int) -> None:
    """And at last a kill, so that the server starts with it."""
    broker = Broker(tmp_path)
    broker.clock = tmp_path / "clock"
    set_clock(broker.clock, 0)

    def jump(by: int) -> Disturbance:
        def act(run: Run) -> None:
            assert broker.clock is not None
            set_clock(broker.clock, by)

        return act

    def kill(run: Run) -> None:
        with run.marked(Change.KILL, "broker-a"):
            broker.kill()
            broker.start()

    jumps = [jump(by) for by in JUMPS.values()]
    groups = {"Readers": Role.MASTER, "Behind": Role.SLAVE}
    plan = Plan(seconds=3 * times, groups=groups, between=0.002, periods=PERIODS)
    assert play_with(broker, plan, *[*jumps, kill] * times) == ""
    assert check_store(broker.store) == []


def test_a_store_that_lost_its_end(tmp_path: Path) -> None:
    """As a disk would that takes back what it had said to have."""
    broker = Broker(tmp_path)

    def lose(run: Run) -> None:
        with run.marked(Change.KILL, "broker-a"):
            log = broker.store / "commitlog"
            while compare_logs(log, log).end % LOG_FILE < 2 * LOST:
                time.sleep(0.01)  # What is lost lies in one file, mostly.
            broker.kill()
            lose_end(log, compare_logs(log, log).end)
            broker.start()

    plan = Plan(seconds=2, between=0.002, periods=PERIODS, sizes=(50,), patience=10)
    rules = play_with(broker, plan, lose)
    assert "a" in rules
    assert set(rules) <= set("acdf")


def lose_end(log: Path, end: int) -> None:
    """Until the server was killed, its log may have come to the next file: of that one nothing is left then."""
    for path in log.iterdir():
        base = int(path.name)
        first, last = max(end - LOST, base), min(end, base + LOG_FILE)
        if first < last:
            with path.open("r+b") as data:
                data.seek(first - base)
                data.write(bytes(last - first))


def test_copies_are_read_and_compared(tmp_path: Path) -> None:
    """Two servers on the same bytes stand for a master and its slave."""
    first, second = Broker(tmp_path / "1"), Broker(tmp_path / "2")
    plan = Plan(queues=2, groups={}, patience=2)
    journal = Journal(tmp_path / "journal")
    try:
        run = Run([first.members], plan, journal)
        first.start()
        prepare(run)
        _send(run, first, "P", 50)
        first.kill()
        shutil.copytree(first.store, second.store)
        first.start()
        first.members.slaves = [second.start()]
        second.members.slaves = []
        copies = read_copies(run)
        assert [copy.role for copy in copies] == [Role.MASTER, Role.SLAVE]
        report = check(journal.read(), copies, PERIODS)
        assert not report.findings, report
        assert report.counts["messages at the end"] >= 50

        _send(run, second, "Q", 10)
        findings = list(check_copies(read_copies(run)))
        assert findings
        assert "the master after" in findings[0].evidence
    finally:
        first.kill()
        second.kill()
        journal.close()
    compared = compare_logs(first.store / "commitlog", second.store / "commitlog")
    assert compared.findings == []
    assert 0 < compared.bytes < compared.ends[1]


def _send(run: Run, broker: Broker, name: str, count: int) -> None:
    line = Line(broker.members, Role.MASTER, 5)
    producer = Producer(name, 1, run.journal, {"broker-a": line}, run.places)
    for _ in range(count):
        producer.step()
    producer.close()
