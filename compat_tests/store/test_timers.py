"""Timer files of one store, opened in turn by TriMQ and by the real broker 5.5.0.

What one of them has put on the wheel, the other delivers: at its time, and once.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.store.shared_directory import (
    SETTINGS,
    SUCCESS,
    TOPIC,
    Real,
    open_ours,
    send_fields,
)
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link
from tests.patience import until
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, parse_record

SEND, MAX = 10, 30
# Small enough that messages for more than six seconds roll, in both.
TIMERS = {**SETTINGS, "timerRollWindowSlot": "6"}
DELAYS = (1500, 2000, 2500, 4000, 4500, 7000, 9000, 14_000)
ROLLS = 6000


class Ours:
    """`trimq server` on the shared directory."""

    def __init__(self, store: Path, log: Path) -> None:
        self._store = store
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Link | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "trimq", "server", "--listen", "127.0.0.1:0"]
        command += ["--namesrv-listen", "127.0.0.1:0", "--store", str(self._store)]
        # Topics that the other broker made are in the store; its own name too.
        for key, value in {**TIMERS, "leavePendingMessages": "true"}.items():
            command += ["--set", f"{key}={value}"]
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        assert line.startswith("TriMQ ready"), self._log.read_text()[-3000:]
        self._link = Link(line.split("broker=")[1].split()[0])

    def ask(self, code: int, ext: dict[str, object], body: bytes = b"") -> Frame:
        assert self._link is not None
        texts = {key: str(value) for key, value in ext.items()}
        return self._link.ask(Frame(code, ext=texts, body=body))

    def stop(self, kill: bool = False) -> None:
        if self._process is None:
            return
        assert self._link is not None
        assert self._process.stdout is not None
        self._link.close()
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        self._process = None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    broker = Real(tmp_path / "broker", TIMERS)
    yield broker
    broker.stop(kill=True)


@pytest.fixture
def ours(broker: Real, tmp_path: Path) -> Iterator[Ours]:
    ours = Ours(broker.store, tmp_path / "ours.log")
    yield ours
    ours.stop(kill=True)


class Ledger:
    """What was asked for, and what of it came."""

    def __init__(self) -> None:
        self.due: dict[str, int] = {}
        self.recalled: set[str] = set()

    def send(self, broker: Real | Ours, delay: int, **more: str) -> str:
        unique = f"{len(self.due):032d}"
        self.due[unique] = int(time.time() * 1000) + delay
        self._put(broker, unique, more)
        return unique

    def recall(self, broker: Real | Ours, unique: str) -> None:
        self.recalled.add(unique)
        self._put(broker, unique, {"TIMER_DEL_UNIQKEY": unique})

    def _put(self, broker: Real | Ours, unique: str, more: dict[str, str]) -> None:
        properties = {"UNIQ_KEY": unique, "TIMER_DELIVER_MS": str(self.due[unique]), **more}
        answer = broker.ask(
            SEND,
            send_fields(
                TOPIC, 0, "".join(f"{key}\x01{value}\x02" for key, value in properties.items())
            ),
            unique.encode(),
        )
        assert answer.code == SUCCESS, answer.remark

    def fill(self, broker: Real | Ours, most: int = 0) -> None:
        """Of each delay some, and some recalls; up to `most` milliseconds ahead, if that is given.

        The real broker forgets a recall when its stop on the way, or its time, has passed while it was down:
        then what rolls cannot be recalled.
        """
        for delay in DELAYS:
            for _ in range(5):
                self.send(broker, delay)
            if 4000 <= delay <= (most or delay):
                self.recall(broker, self.send(broker, delay))

    @property
    def expected(self) -> int:
        return len(self.due) - len(self.recalled)

    def wait(self, broker: Real | Ours, count: int) -> None:
        def holds() -> bool:
            answer = broker.ask(MAX, {"topic": TOPIC, "queueId": 0})
            return int(answer.ext["offset"]) >= count

        until(holds, f"{count} messages delivered")

    def check(self, root: Path, twice: bool = False) -> None:
        """`twice`: the real broker delivers again what was delivered after a checkpoint."""
        found: Counter[str] = Counter()
        for record in delivered(root):
            unique = record.body.decode()
            assert record.store_timestamp >= self.due[unique], "early"
            assert unique not in self.recalled
            assert parse_properties(record.properties)["TIMER_DEQUEUE_MS"].isdigit()
            found[unique] += 1
        assert found.keys() == self.due.keys() - self.recalled
        if not twice:
            assert set(found.values()) == {1}, found


def delivered(root: Path) -> list[Record]:
    store = open_ours(root)
    try:
        records = []
        for offset in range(store.max_offset(TOPIC, 0)):
            entry = store.queue_entry(TOPIC, 0, offset)
            assert entry is not None
            data = store.record_at(entry.physical_offset)
            assert data is not None
            records.append(parse_record(data))
        return records
    finally:
        store.close()


@pytest.mark.parametrize("kill", [False, True])
def test_ours_delivers_what_waits_on_the_real_brokers_wheel(
    broker: Real, ours: Ours, kill: bool
) -> None:
    ledger = Ledger()
    broker.start()
    ledger.fill(broker)
    # Some are out, more are due.
    ledger.wait(broker, 3)
    broker.stop(kill)
    ours.start()
    ledger.wait(ours, ledger.expected)
    ours.stop()
    ledger.check(broker.store)


@pytest.mark.parametrize("kill", [False, True])
def test_the_real_broker_delivers_what_waits_on_ours(broker: Real, ours: Ours, kill: bool) -> None:
    ledger = Ledger()
    # It makes the topic.
    broker.start()
    broker.stop()
    ours.start()
    ledger.fill(ours, ROLLS)
    ledger.wait(ours, 3)
    ours.stop(kill)
    broker.start()
    ledger.wait(broker, ledger.expected)
    broker.stop()
    ledger.check(broker.store, twice=kill)


def test_it_goes_from_hand_to_hand(broker: Real, ours: Ours) -> None:
    """real (stopped) -> ours (killed) -> ours (stopped) -> real (stopped) -> ours; all of them with new messages."""
    ledger = Ledger()
    broker.start()
    ledger.fill(broker, ROLLS)
    broker.stop()
    for kill in (True, False):
        ours.start()
        ledger.fill(ours, ROLLS)
        ours.stop(kill)
    broker.start()
    ledger.fill(broker, ROLLS)
    broker.stop()
    ours.start()
    ledger.wait(ours, ledger.expected)
    ours.stop()
    ledger.check(broker.store)
