"""When tables are written, and when what waits for that goes on."""

from typing import cast

import pytest
import trio
import trio.testing

from trimq.broker.tables.file import TableFile
from trimq.broker.tables.writer import TableWriter


class SlowFile:
    """A small table on a disk that takes `seconds` for a write."""

    busy = False
    size = 100
    changes = 1

    def __init__(self, clock: list[float], seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.writes = 0

    def write(self) -> None:
        self.writes += 1
        self._clock[0] += self._seconds


@pytest.mark.parametrize(("seconds", "rest"), [(0.001, 0.009), (5.0, 0.25)])
def test_a_tenth_of_the_time_but_never_long(seconds: float, rest: float) -> None:
    clock = [100.0]
    writer = TableWriter(now=lambda: clock[0])
    file = SlowFile(clock, seconds)
    writer.changed(cast(TableFile, file))
    writer.end_of_receive()
    for pause, writes in ((0.9 * rest, 1), (0.2 * rest, 2)):
        clock[0] += pause
        writer.changed(cast(TableFile, file))
        writer.end_of_receive()
        assert file.writes == writes


class ThreadFile(SlowFile):
    """A large table, written beside the loop until `done` says so."""

    size = 1 << 20

    def __init__(self, clock: list[float]) -> None:
        super().__init__(clock, 0.0)
        self.begun = trio.Event()
        self.done = trio.Event()

    async def write_beside_the_loop(self) -> None:
        self.writes += 1
        self.begun.set()
        await self.done.wait()


async def test_nobody_waits_for_ever_and_nobody_goes_on_too_early(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """A small table changes while a thread writes a large one: its own write must not answer for both."""
    clock = [100.0]
    writer = TableWriter(now=lambda: clock[0])
    nursery.start_soon(writer.run)
    large, small = ThreadFile(clock), SlowFile(clock, 0.0)
    gone_on: list[str] = []

    async def wait(name: str) -> None:
        await writer.written()
        gone_on.append(name)

    writer.changed(cast(TableFile, large))
    writer.end_of_receive()
    nursery.start_soon(wait, "large")
    await large.begun.wait()
    writer.changed(cast(TableFile, small))
    writer.end_of_receive()
    assert small.writes == 1
    nursery.start_soon(wait, "small")
    await trio.testing.wait_all_tasks_blocked()
    assert gone_on == []
    large.done.set()
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(gone_on) == ["large", "small"]


async def test_a_change_that_comes_while_the_same_table_is_written_waits_for_the_next_write(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    clock = [100.0]
    writer = TableWriter(now=lambda: clock[0])
    nursery.start_soon(writer.run)
    large = ThreadFile(clock)
    writer.changed(cast(TableFile, large))
    await large.begun.wait()
    writer.changed(cast(TableFile, large))
    writer.end_of_receive()
    large.done.set()
    await writer.written()
    assert large.writes == 2
