"""One partition of a read: pulls to Arrow batches. Runs on executors."""

from __future__ import annotations

import itertools
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from trimq.spark.options.values import ReadOptions
from trimq.spark.queues import Range
from trimq.spark.reading.broker_link import BrokerLink
from trimq.spark.reading.holes import Holes, first_offset
from trimq.spark.reading.pulling import Answer, Puller
from trimq.spark.records.decode import outline, to_batch, unwrap
from trimq.spark.records.rows import QUEUE_OFFSET, STOP, WRAPPED, Rows

log: Final = logging.getLogger("trimq.spark")

# A batch is handed over when it holds this many bytes or came in this many answers.
_BYTES: Final = 4 << 20
_ANSWERS: Final = 256

# Positions among rows, from the first up to, not including, the second.
Span = tuple[int, int]


def read_ranges(
    parts: Sequence[Range], options: ReadOptions, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The messages of all the ranges, as batches with the columns `names`.

    Each queue's messages are in order. One broker after another; a broker's queues are pulled
    together.
    """
    for _, those in itertools.groupby(sorted(parts, key=_broker), key=_broker):
        yield from _read_broker(list(those), options, names)


def _broker(part: Range) -> str:
    return part.broker_name


def _read_broker(
    parts: list[Range], options: ReadOptions, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    link = BrokerLink(parts[0].broker_name, parts[0].addr, options.connection)
    holes = Holes(link, options.pulls)
    batches = _Batches(parts, options, names, holes)
    try:
        for answer in Puller(parts, options.pulls, link):
            if batches.add(answer):
                yield from batches.flush()
        yield from batches.flush()
    finally:
        link.close()
    if holes.count:
        planned = sum(part.count for part in parts)
        log.warning(
            "broker %r: %d of %d messages of this task were lost", link.name, holes.count, planned
        )


class _Batches:
    """Collects answers until they make a batch."""

    def __init__(
        self, parts: Sequence[Range], options: ReadOptions, names: Sequence[str], holes: Holes
    ) -> None:
        self._parts = parts
        self._names = names
        self._filtered = options.pulls.expression.selects
        self._tags = options.pulls.expression.tags
        self._holes = holes
        self._answers: list[Answer] = []
        self._size = 0
        # For each range: everything before this offset has come, or is known to be lost or left
        # out.
        self._next = [part.start for part in parts]

    def add(self, answer: Answer) -> bool:
        """Whether that is enough."""
        self._answers.append(answer)
        self._size += len(answer.pulled.records)
        return self._size >= _BYTES or len(self._answers) >= _ANSWERS

    def flush(self) -> Iterator[pa.RecordBatch]:
        """What has come since the last time: one batch, or several if something had to be fetched again."""
        answers, self._answers, self._size = self._answers, [], 0
        rows, stops = _joined(answers)
        offsets, ends = rows.numbers(QUEUE_OFFSET), rows.numbers(STOP)
        # Those of `rows` that make the next batch.
        kept: list[Span] = []
        at = 0
        for answer, stop in zip(answers, stops, strict=True):
            end = bisect_right(ends, stop, lo=at)
            new, at = self._new(answer.number, offsets, at, end), end
            if self._filtered:
                kept.append(new)
                self._passed_over(answer, offsets[slice(*new)])
                continue
            for piece in self._whole(answer, offsets, new):
                if isinstance(piece, tuple):
                    kept.append(piece)
                    continue
                # In between, for the order of the queue.
                yield from self._batch(rows.take(kept))
                kept = []
                yield from self._batch(piece)
        yield from self._batch(rows.take(kept))

    def _new(self, number: int, offsets: Sequence[int], at: int, end: int) -> Span:
        """The messages of the range that have not come yet."""
        at = bisect_left(offsets, self._next[number], at, end)
        return at, bisect_left(offsets, self._parts[number].end, at, end)

    def _whole(self, answer: Answer, offsets: Sequence[int], new: Span) -> Iterator[Span | Rows]:
        """The messages up to the last one of them, or with the last answer up to the end of the range.

        Rows are what had to be fetched again.
        """
        number = answer.number
        expected = self._next[number]
        at, stop = new
        following = expected + stop - at
        if offsets[at:stop] == list(range(expected, following)):
            yield new
            expected = following
        else:
            for place in range(at, stop):
                offset = offsets[place]
                if offset < expected:
                    continue
                if offset > expected:
                    yield self._settle(number, expected, offset)
                yield place, place + 1
                expected = offset + 1
        end = self._parts[number].end
        if answer.last and expected < end:
            yield self._settle(number, expected, end)
            expected = end
        self._next[number] = expected

    def _settle(self, number: int, start: int, end: int) -> Rows:
        return self._holes.settle(replace(self._parts[number], start=start, end=end))

    def _passed_over(self, answer: Answer, seen: Sequence[int]) -> None:
        """Note what was gone when the broker looked for messages that are wanted."""
        part, pulled = self._parts[answer.number], answer.pulled
        start = self._next[answer.number]
        covered = part.end if pulled.following is None else min(pulled.following, part.end)
        if covered <= start:
            return
        self._next[answer.number] = covered
        gone = covered
        if pulled.following is not None:
            looked = answer.first
            if looked is None:
                # Nothing was left out.
                return
            first = first_offset(looked, looked.position)
            first = looked.following if first is None else first
            gone = covered if first is None else min(first, covered)
        if start < gone:
            self._holes.settle_filtered(replace(part, start=start, end=gone), seen)

    def _batch(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        if len(rows):
            yield to_batch(rows, self._names, self._parts[0].broker_name, self._tags)


def _joined(answers: Sequence[Answer]) -> tuple[Rows, list[int]]:
    """The records of all answers in one buffer, and where each answer ends in it."""
    pieces = [answer.pulled.records for answer in answers]
    rows = outline(b"".join(pieces))
    if rows.flagged(WRAPPED):
        pieces = [unwrap(outline(piece)).buffer for piece in pieces]
        rows = outline(b"".join(pieces))
    return rows, list(itertools.accumulate(map(len, pieces)))
