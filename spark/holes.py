"""Offsets that an answer left out: looked at once more, then told what of them is gone.

Brokers delete whole files of the log, and their queues notice later: a pull then passes over what is gone
without a word. In a range that is read unfiltered every offset must come, since queues have no holes
of their own: half messages, timed ones and retries lie in queues of others until they get their offset. The
exception are topics with cleanup.policy=COMPACTION: of messages with one key only the newest stays.

With a filter the broker does not say which ones it left out. But what is deleted of a queue is always
its beginning: if a message is there, all later ones are. So it is enough to know where the log began after
the broker had looked for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from trimq.admin.errors import AdminError
from trimq.codec.codes import RequestCode
from trimq.remoting.errors import TransportError
from trimq.spark.broker_link import BrokerLink
from trimq.spark.decode import outline, unwrap
from trimq.spark.errors import SparkSourceError
from trimq.spark.options import Pulls
from trimq.spark.outages import is_outage, lost
from trimq.spark.pulling import Pulled, read_answer, request_header
from trimq.spark.queues import Range
from trimq.spark.rows import QUEUE_OFFSET, STOP, Rows

R = TypeVar("R")

_EXPIRED: Final = "expired while it was read"
_ENDED: Final = "the queue does not go so far any more"


class Holes:
    """What is missing in ranges of one broker's queues. `count` are the messages that were lost."""

    def __init__(self, link: BrokerLink, pulls: Pulls) -> None:
        self._link = link
        self._pulls = pulls
        self.count = 0

    def settle(self, gone: Range) -> Rows:
        """The records of offsets that did not come, if they are there after all; the others are lost.

        DataLost if losses shall fail. Outages of the broker are waited for.
        """
        missing, rows = self._patiently(lambda: self._look_again(gone))
        for one, why in missing:
            self._lost(one, one.count, why)
        return rows

    def settle_filtered(self, gone: Range, seen: Sequence[int]) -> None:
        """The log began behind this range when the broker had looked; offsets `seen` came nevertheless."""
        first = self._patiently(lambda: self._first(gone))
        if first == gone.start:
            return
        if first is not None and first < gone.end:
            raise SparkSourceError(f"{gone}: there again after it was gone; run the job again")
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
        """The first message that is there, in the range or behind it; None if nothing is.

        The beginning of the range where nothing is missed.
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
    """The first message of an answer at or behind a position; None when there is none."""
    offsets = unwrap(outline(pulled.records)).numbers(QUEUE_OFFSET)
    return next((offset for offset in offsets if offset >= position), None)


def _join(missing: list[tuple[Range, str]], more: Range, why: str) -> None:
    """Add it to the last one where the two touch."""
    if missing and missing[-1][0].end == more.start:
        last, _ = missing.pop()
        more = replace(more, start=last.start)
    missing.append((more, why))
