"""One partition of a read: pulls to Arrow batches. Runs on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from trimq.spark.decode import outline, to_batch, unwrap
from trimq.spark.options import ReadOptions
from trimq.spark.pulling import Puller
from trimq.spark.queues import Range

# A batch is handed over when it holds so many bytes or came in so many answers.
_BYTES: Final = 4 << 20
_ANSWERS: Final = 256


def read_ranges(
    parts: Sequence[Range], options: ReadOptions, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The messages of all the ranges, as batches with the columns `names`."""
    for part in parts:
        yield from _read_range(part, options, names)


def _read_range(
    part: Range, options: ReadOptions, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The messages of a range as batches with the columns `names`."""
    batches = _Batches(part, options, names)
    for answer in Puller(part, options.pulls, options.connection):
        if batches.add(answer) and (batch := batches.flush()) is not None:
            yield batch
    if (batch := batches.flush()) is not None:
        yield batch


class _Batches:
    """Collects answers until they make a batch."""

    def __init__(self, part: Range, options: ReadOptions, names: Sequence[str]) -> None:
        self._part = part
        self._names = names
        self._tags = options.pulls.expression.tags
        self._answers: list[bytes] = []
        self._size = 0
        self._next = part.start

    def add(self, answer: bytes) -> bool:
        """Whether that is enough."""
        self._answers.append(answer)
        self._size += len(answer)
        return self._size >= _BYTES or len(self._answers) >= _ANSWERS

    def flush(self) -> pa.RecordBatch | None:
        buffer = b"".join(self._answers)
        self._answers, self._size = [], 0
        # The messages of the range that have not been there yet.
        rows, self._next = unwrap(outline(buffer)).within(self._next, self._part.end)
        if not len(rows):
            return None
        return to_batch(rows, self._names, self._part.broker_name, self._tags)
