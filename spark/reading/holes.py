"""Offsets that an answer left out: checked once more, then reported as gone.

Brokers delete whole files of the log, and their queues notice later: a pull then silently skips
what is gone. In a range that is read unfiltered every offset must come, since queues have no holes
otherwise: half messages, timed ones and retries lie in other queues until they get their offset.
The exception is topics with cleanup.policy=COMPACTION: of messages with the same key only the
newest stays.

With a filter the broker does not say which ones it left out. But it is always the beginning of a
queue that is deleted: if a message exists, so do all later ones. So it is enough to know where the
log began after the broker had looked for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from trimq.admin.errors import AdminError
from trimq.codec.codes import RequestCode
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options.values import Pulls
from trimq.spark.queues import Range
from trimq.spark.reading.broker_link import BrokerLink
from trimq.spark.reading.outages import is_outage, lost
from trimq.spark.reading.pulling import Pulled, read_answer, request_header
from trimq.spark.records.decode import outline, unwrap
from trimq.spark.records.rows import QUEUE_OFFSET, STOP, Rows

R = TypeVar("R")

_EXPIRED: Final = "expired while it was read"
_ENDED: Final = "the queue does not reach that far any more"


class Holes:
    """What is missing in ranges of one broker's queues. `count` is the number of lost messages."""

    def __init__(self, link: BrokerLink, pulls: Pulls) -> None:
        self._link = link
        self._pulls = pulls
        self.count = 0

    def settle(self, gone: Range) -> Rows:
        """The records of offsets that did not come, if they exist after all; the others are lost.

        DataLost if losses are to fail. Waits for outages of the broker to pass.
        """
        missing, rows = self._patiently(lambda: self._look_again(gone))
        for one, why in missing:
            self._lost(one, one.count, why)
        return rows

    def settle_filtered(self, gone: Range, seen: Sequence[int]) -> None:
        """The log began after this range when the broker had looked; offsets `seen` came nevertheless."""
        first = self._patiently(lambda: self._first(gone))
        if first == gone.start:
            return
        if first is not None and first < gone.end:
            raise SparkSourceError(f"{gone}: back again after it was gone; run the job again")
        came = sum(gone.start <= offset < gone.end for offset in seen)
        why = f"{_EXPIRED}, and nobody knows whether the filter wanted it"
        self._lost(gone, gone.count - came, _ENDED if first is None else why)

    def _lost(self, gone: Range, count: int, why: str) -> None:
        if count > 0:
            self.count += count
            lost(gone, why, self._pulls.fail_on_data_loss, count)

    def _look_again(self, gone: Range) -> tuple[list[tuple[Range, str]], Rows]:
        """What is missing and why, and the records of the rest."""
        self._link.check_judge()
        if self._link.compacts(gone.topic):
            return [], outline(b"")
        missing: list[tuple[Range, str]] = []
        kept: list[bytes] = []
        at = gone.start
        while at < gone.end:
            pulled = self._pull(gone, at, min(self._pulls.batch_size, gone.end - at))
            if pulled.following is None:
                _join(missing, replace(gone, start=at), _ENDED)
                break
            rows = unwrap(outline(pulled.records))
            for row in rows:
                offset: int = row[QUEUE_OFFSET]
                if not at <= offset < gone.end:
                    continue
                if offset > at:
                    _join(missing, replace(gone, start=at, end=offset), _EXPIRED)
                kept.append(rows.buffer[row[STOP] - row[0] : row[STOP]])
                at = offset + 1
            to = min(pulled.following, gone.end)
            if to > at:
                _join(missing, replace(gone, start=at, end=to), _EXPIRED)
                at = to
        self._link.answered()
        return missing, outline(b"".join(kept))

    def _first(self, gone: Range) -> int | None:
        """The first message that exists, in the range or after it; None if there is none.

        The beginning of the range if nothing is missing.
        """
        self._link.check_judge()
        if self._link.compacts(gone.topic):
            return gone.start
        at = gone.start
        while at < gone.end:
            pulled = self._pull(gone, at, 1)
            if pulled.following is None:
                return None
            found = first_offset(pulled, at)
            if found is not None:
                at = found
                break
            at = pulled.following
        self._link.answered()
        return at

    def _pull(self, part: Range, position: int, most: int) -> Pulled:
        link = self._link
        header = request_header(part, self._pulls, position, most, unfiltered=True)
        return read_answer(link, part, position, link.request(RequestCode.PULL_MESSAGE, header))

    def _patiently(self, look: Callable[[], R]) -> R:
        while True:
            try:
                return look()
            except (AdminError, TransportError) as error:
                if not is_outage(error):
                    raise
                self._link.failed(error)


def first_offset(pulled: Pulled, position: int) -> int | None:
    """The first message of an answer at or after a position; None when there is none."""
    offsets = unwrap(outline(pulled.records)).numbers(QUEUE_OFFSET)
    return next((offset for offset in offsets if offset >= position), None)


def _join(missing: list[tuple[Range, str]], more: Range, why: str) -> None:
    """Merge it with the last one if the two touch."""
    if missing and missing[-1][0].end == more.start:
        last, _ = missing.pop()
        more = replace(more, start=last.start)
    missing.append((more, why))
