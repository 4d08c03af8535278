"""How long a table rests after a write."""

from typing import cast

import pytest

from trimq.broker.table_file import TableFile
from trimq.broker.table_writer import TableWriter


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
