"""A timer store on small files: a wheel of 400 slots, a log of 10 records a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimq.codec.entries.timer import MAGIC_DELETE
from trimq.store.timers.chain import Due
from trimq.store.timers.recovery import Recovered
from trimq.store.timers.timer_store import Entered, TimerStore

SECOND = 1000
SLOTS = 400
WINDOW = 100
LOG_FILE = 52 * 10 + 30
BEGIN = 1_700_000_000_000
# Bytes of each message in the imagined commit log.
SIZE = 100


class Timers:
    """A timer store and the queue that it is fed from: message n is at physical offset n * SIZE."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = BEGIN
        self.log_end = 0
        # What is in the queue: (TIMER_OUT_MS, whether it is a recall).
        self.queue: list[tuple[int, bool]] = []
        self.recovered: Recovered | None = None
        self.open()

    def open(self) -> None:
        self.store = TimerStore(self.root, SECOND, LOG_FILE, SLOTS)
        self.recovered = self.store.load(
            len(self.queue), self.log_end, self.now, WINDOW, self._find
        )

    def _find(self, physical_offset: int, size: int) -> int | None:
        number, rest = divmod(physical_offset, SIZE)
        return number if not rest and size == SIZE and number < len(self.queue) else None

    def send(self, seconds: float, is_delete: bool = False) -> int:
        """Into the queue, due that far from now; its number."""
        self.queue.append((self.now + int(seconds * SECOND), is_delete))
        self.log_end = len(self.queue) * SIZE
        return len(self.queue) - 1

    def feed(self) -> list[int]:
        """Enter what is in the queue; the numbers of those that are due already."""
        due = []
        while self.store.queue_offset < len(self.queue):
            number = self.store.queue_offset
            out_ms, is_delete = self.queue[number]
            result = self.store.enter(
                out_ms,
                number * SIZE,
                SIZE,
                is_delete=is_delete,
                topic_hash=7,
                now=self.now,
                window=WINDOW,
            )
            if result is Entered.DUE:
                due.append(number)
            elif result is Entered.LATER:
                break
            self.store.queue_offset += 1
        return due

    def enter(self, seconds: float, is_delete: bool = False) -> int:
        number = self.send(seconds, is_delete)
        assert self.feed() == []
        return number

    def take(self) -> list[tuple[int, list[Due], list[Due]]]:
        """All slots that are due: their time, recalls and messages, oldest first; they are done then."""
        found = []
        while self.store.is_behind(self.now):
            time = self.store.find_due(self.now)
            if time is not None:
                found.append((time, *self.read(time)))
                self.store.finish(time)
        return found

    def read(self, time: int) -> tuple[list[Due], list[Due]]:
        chain = self.store.begin(time, self.log_end)
        while not chain.done:
            start, size = chain.wanted()
            chain.take(start, self.store.log.read_blocking(start, size))
        deletes = [chain.deletes.at(index) for index in range(len(chain.deletes))]
        others = [chain.others.at(index) for index in range(len(chain.others))]
        assert all(due.magic & MAGIC_DELETE for due in deletes)
        return deletes, others

    def numbers(self) -> list[int]:
        """What is due now, as the numbers of the messages."""
        return [due.physical_offset // SIZE for _, _, others in self.take() for due in others]

    def flush(self) -> bool:
        plan = self.store.plan_flush(self.log_end, self.now)
        if plan is None:
            return False
        plan.run()
        self.store.flushed(plan)
        return True

    def kill(self) -> None:
        """What was handed to the kernel stays."""
        self.store.close()
        self.open()


@pytest.fixture
def timers(tmp_path: Path) -> Iterator[Timers]:
    made = Timers(tmp_path / "store")
    (tmp_path / "store").mkdir()
    yield made
    made.store.close()
