"""Pulling ranges of one broker's queues, with several requests under way on one connection.

A broker returns at most 32 messages or 256 KiB per request (fewer from its disk), so one question
at a time would mostly wait. Ranges are cut into windows; the next ones, of this queue or of the
next ones, are asked for while the first is on its way. If an answer ends inside its window, the
rest is asked for; what lies beyond its window comes again with the next one.

What an answer leaves out is not judged here (see `spark.holes`). But where the broker filters, every few
answers are followed by a pull of one message, whatever it is, from where they began: was the log still whole
there after the broker had looked for messages?
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from trimq.admin.errors import AdminError, Refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import PullFlag
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from trimq.codec.records.fields import size_at
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options.values import Pulls
from trimq.spark.queues import Range
from trimq.spark.reading.broker_link import BrokerLink
from trimq.spark.reading.outages import Away, is_outage

# Messages in a window of a filtered range: a broker skips many in one request.
_FILTERED_WINDOW: Final = 2048
# Filtered answers that are checked together.
_LOOKED_AT_ONCE: Final = 4
# Requests under way at most, however short the queues are.
_REQUESTS: Final = 64
# The weight of a window that may return as much as an answer can hold; that of a short queue is 1.
_FULL: Final = 64


@dataclass(slots=True)
class Pulled:
    """What a pull from `position` on returned: records, and how far the broker has got.

    `following` is None if the queue ends at `position`.
    """

    position: int
    following: int | None
    records: bytes


@dataclass(slots=True)
class Answer:
    """A pull of range `number`; its records may have come before, or lie beyond the range.

    `last`: nothing more comes from the range. `first` is the pull of one message that followed it
    and its neighbours, None if it was not needed.
    """

    number: int
    pulled: Pulled
    last: bool
    first: Pulled | None = None


class _Queue:
    """A range on its way. `position` is the first offset that no window has."""

    __slots__ = ("fields", "light", "number", "part", "position", "step", "windows")

    def __init__(self, number: int, part: Range, step: int, batch_size: int) -> None:
        self.number = number
        self.part = part
        self.position = part.start
        self.step = step
        self.windows = 0
        # One request is enough for it, and will not return much.
        self.light = part.count <= batch_size
        self.fields: dict[str, str] | None = None


class _Window:
    """`position` up to `end` of a queue is still to come; `opaque` is the request under way."""

    __slots__ = ("end", "generation", "opaque", "position", "queue")

    def __init__(self, queue: _Queue, position: int, end: int) -> None:
        self.queue = queue
        self.position = position
        self.end = end
        self.opaque = 0
        # Not on any connection yet.
        self.generation = -1


class _Look:
    """A pull of one message where some answers of a range begin, or where the broker says to continue from there."""

    __slots__ = ("answers", "end", "generation", "needed", "opaque", "part", "position")

    def __init__(self, part: Range, answers: list[Answer]) -> None:
        self.part = part
        self.answers = answers
        self.position = answers[0].pulled.position
        following = answers[-1].pulled.following
        self.end = part.end if following is None else following
        self.needed = True
        self.opaque = 0
        self.generation = -1


class Puller:
    """Yields answers, those of a range in its order. Waits for outages of the broker to pass."""

    def __init__(self, parts: Sequence[Range], pulls: Pulls, link: BrokerLink) -> None:
        self._pulls = pulls
        self._link = link
        self._filtered = pulls.expression.selects
        step = _FILTERED_WINDOW if self._filtered else pulls.batch_size
        self._waiting = deque(
            _Queue(number, part, step, pulls.batch_size) for number, part in enumerate(parts)
        )
        self._windows: deque[_Window] = deque()
        # Windows under way, by how much they may return.
        self._weight = 0

    def __iter__(self) -> Iterator[Answer]:
        look: _Look | None = None
        filtered: list[Answer] = []
        while self._waiting or self._windows:
            try:
                self._fill()
                window = self._windows[0]
                pulled = self._head(window)
            except (AdminError, TransportError) as error:
                if not is_outage(error):
                    raise
                self._link.failed(error)
                continue
            self._link.answered()
            if look is not None:
                yield from self._looked(look)
                look = None
            part, answer = window.queue.part, self._move(window, pulled)
            if not self._filtered:
                yield answer
                continue
            filtered.append(answer)
            if answer.last or len(filtered) == _LOOKED_AT_ONCE:
                look, filtered = _Look(part, filtered), []
                self._look(look)
        if look is not None:
            yield from self._looked(look)

    def _fill(self) -> None:
        """Ask for the next windows until enough are under way."""
        if self._filtered:
            # A slave's answers to a filter do not show whether it has all that its master has.
            self._link.check_judge()
        while self._waiting and self._weight < self._pulls.in_flight * _FULL:
            if len(self._windows) >= _REQUESTS:
                break
            queue = self._waiting[0]
            window = _Window(
                queue, queue.position, min(queue.position + queue.step, queue.part.end)
            )
            self._windows.append(window)
            self._weight += _weight(queue)
            queue.windows += 1
            queue.position = window.end
            if queue.position >= queue.part.end:
                self._waiting.popleft()
        for window in self._windows:
            if window.generation != self._link.generation or not window.opaque:
                self._ask(window)

    def _ask(self, window: _Window) -> None:
        link, queue = self._link, window.queue
        most = min(self._pulls.batch_size, window.end - window.position)
        fields: dict[str, str] | Header
        header = request_header(queue.part, self._pulls, window.position, most)
        if queue.fields is None:
            made = link.fields(header)
            queue.fields = made if isinstance(made, dict) else None
            fields = made
        else:
            # Made once: a header costs as much as several messages.
            fields = queue.fields
            fields["queueOffset"] = str(window.position)
            fields["maxMsgNums"] = str(most)
        window.opaque = link.start(RequestCode.PULL_MESSAGE, fields)
        window.generation = link.generation

    def _head(self, window: _Window) -> Pulled:
        """Take the first window's answer."""
        opaque, window.opaque = window.opaque, 0
        answer = self._link.finish(opaque)
        return read_answer(self._link, window.queue.part, window.position, answer)

    def _move(self, window: _Window, pulled: Pulled) -> Answer:
        """Continue after the answer; ask for the rest of its window if there is one."""
        queue, following = window.queue, pulled.following
        if following is None:
            self._drop(queue)
            return Answer(queue.number, pulled, last=True)
        if not self._filtered and pulled.records:
            self._fit(window, following)
        window.position = following
        if window.position < window.end:
            return Answer(queue.number, pulled, last=False)
        self._windows.popleft()
        self._weight -= _weight(queue)
        queue.windows -= 1
        return Answer(queue.number, pulled, last=not queue.windows and self._is_asked(queue))

    def _is_asked(self, queue: _Queue) -> bool:
        return queue.position >= queue.part.end

    def _drop(self, queue: _Queue) -> None:
        """The queue has ended: nothing more is asked for."""
        left = deque(window for window in self._windows if window.queue is not queue)
        self._weight -= _weight(queue) * (len(self._windows) - len(left))
        self._windows = left
        if not self._is_asked(queue):
            self._waiting.remove(queue)

    def _fit(self, window: _Window, following: int) -> None:
        """Make the next windows as long as one answer is: brokers stop at a number of bytes, too."""
        queue = window.queue
        if following < window.end:
            queue.step = max(following - window.position, 1)
        else:
            queue.step = min(queue.step * 2, self._pulls.batch_size)

    def _look(self, look: _Look) -> None:
        """Ask for one message, whatever it is."""
        if all(map(_is_dense, look.answers)):
            look.needed = False
            return
        link = self._link
        header = request_header(look.part, self._pulls, look.position, 1, unfiltered=True)
        # Without a connection it is asked again when its turn comes; the pulls notice by
        # themselves.
        with suppress(TransportError):
            look.opaque = link.start(RequestCode.PULL_MESSAGE, link.fields(header))
            look.generation = link.generation

    def _looked(self, look: _Look) -> list[Answer]:
        """The answers, and what that one message was."""
        link = self._link
        found: Pulled | None = None
        while look.needed and found is None:
            try:
                if look.generation != link.generation:
                    self._look(look)
                if look.generation != link.generation:
                    raise Away(f"no connection to {link.addr}")
                # Whatever comes, it answers once.
                look.generation = -1
                answer = link.finish(look.opaque)
                one = read_answer(link, look.part, look.position, answer)
                link.answered()
                following = one.following
                if one.records or following is None or following >= look.end:
                    found = one
                else:
                    # No message up to there: that only says where the log does not begin.
                    look.position = following
            except (AdminError, TransportError) as error:
                if not is_outage(error):
                    raise
                link.failed(error)
        for waiting in look.answers:
            waiting.first = found
        return look.answers


def request_header(
    part: Range, pulls: Pulls, offset: int, most: int, *, unfiltered: bool = False
) -> PullMessageRequestHeader:
    """A pull that does not wait for messages and commits nothing."""
    return PullMessageRequestHeader(
        consumer_group=pulls.group,
        topic=part.topic,
        queue_id=part.queue_id,
        queue_offset=offset,
        max_msg_nums=most,
        sys_flag=PullFlag.SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription="*" if unfiltered else pulls.expression.text,
        sub_version=0,
        expression_type="TAG" if unfiltered else pulls.expression.kind,
    )


def read_answer(link: BrokerLink, part: Range, position: int, answer: RemotingCommand) -> Pulled:
    """What a pull returned. Refused or Away if it may be asked again, SparkSourceError if not."""
    code = answer.code
    if code == ResponseCode.TOPIC_NOT_EXIST:
        # The broker itself says so: not an outage.
        return Pulled(position, None, b"")
    if code not in _READ:
        refused = Refused(link.addr, RequestCode.PULL_MESSAGE, code, answer.remark)
        if is_outage(refused):
            raise refused
        remark = " ".join((answer.remark or "").split())
        raise SparkSourceError(f"{link.addr} refused to read {part} with code {code}: {remark}")
    reply = decode_header(PullMessageResponseHeader, answer.ext_fields)
    following = reply.next_begin_offset
    if code == ResponseCode.SUCCESS:
        if following > position:
            return Pulled(position, following, bytes(answer.body))
    elif reply.max_offset <= position:
        return Pulled(position, None, b"")
    elif following > position and (
        code != ResponseCode.PULL_OFFSET_MOVED or reply.min_offset > position
    ):
        return Pulled(position, following, b"")
    # So does a slave that is behind, and a broker whose operator has just moved the group elsewhere.
    raise Away(f"{link.addr} answers to {part} at {position} with {following}")


def _is_dense(answer: Answer) -> bool:
    """Whether the filter left nothing out; with records of several messages that cannot be seen here."""
    pulled = answer.pulled
    if pulled.following is None:
        return False
    records, at, count = pulled.records, 0, 0
    while at < len(records):
        size = size_at(records, at)
        # A bad record is reported where records are read.
        at += max(size, 1)
        count += 1
    return count == pulled.following - pulled.position


def _weight(queue: _Queue) -> int:
    return 1 if queue.light else _FULL


_READ: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)
