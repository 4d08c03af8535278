"""Pulling a range of a queue, with several requests under way on one connection.

A broker gives at most 32 messages or 256 KiB for a request (fewer from its disk), so one question at
a time would mostly wait. The range is cut into windows; the next ones are asked for while the first
is on its way. Where an answer ends inside its window, the rest is asked for; what lies behind its
window comes again with the next one.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from trimq.admin.cluster import preferred_addr
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.command import RemotingCommand
from trimq.codec.flags import PullFlag
from trimq.codec.headers.base import decode_header, encode_header
from trimq.codec.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from trimq.remoting.blocking import BlockingClient
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.options import Connection, Pulls
from trimq.spark.outages import lost
from trimq.spark.queues import Range

log: Final = logging.getLogger("trimq.spark")

# Messages in a window of a filtered range: a broker passes over many in one request.
_FILTERED_WINDOW: Final = 2048
_PAUSE: Final = 0.5


class _Window:
    """`position` up to `end` is still to come; `opaque` is the request under way."""

    __slots__ = ("end", "opaque", "position")

    def __init__(self, position: int, end: int) -> None:
        self.position = position
        self.end = end
        self.opaque = 0


class Puller:
    """Yields the records of answers, in order; some may come twice or lie behind the range."""

    def __init__(self, part: Range, pulls: Pulls, connection: Connection) -> None:
        self._part = part
        self._pulls = pulls
        self._connection = connection
        self._addr = part.addr
        self._client: BlockingClient | None = None
        self._windows: deque[_Window] = deque()
        self._next = part.start
        self._filtered = pulls.expression.selects
        self._step = _FILTERED_WINDOW if self._filtered else pulls.batch_size
        self._failures = 0
        self._fields = encode_header(self._header(part.start, pulls.batch_size))

    def __iter__(self) -> Iterator[bytes]:
        try:
            while self._next < self._part.end or self._windows:
                try:
                    self._fill()
                    found = self._head()
                except TransportError as error:
                    self._start_again(error)
                    continue
                self._failures = 0
                if found is not None:
                    yield found
        finally:
            if self._client is not None:
                self._client.close()

    def _fill(self) -> None:
        """Ask for the next windows until enough are under way."""
        if self._client is None:
            self._client = self._connection.client(self._addr)
            for window in self._windows:
                self._ask(window)
        while len(self._windows) < self._pulls.in_flight and self._next < self._part.end:
            window = _Window(self._next, min(self._next + self._step, self._part.end))
            self._windows.append(window)
            self._next = window.end
            self._ask(window)

    def _ask(self, window: _Window) -> None:
        client = self._client
        assert client is not None
        most = min(self._pulls.batch_size, window.end - window.position)
        keys = self._connection.keys
        if keys is None:
            # Made once: a header costs as much as several messages.
            fields = self._fields
            fields["queueOffset"] = str(window.position)
            fields["maxMsgNums"] = str(most)
            window.opaque = client.start(RequestCode.PULL_MESSAGE, fields)
        else:
            header = keys.signed(self._header(window.position, most), b"")
            window.opaque = client.start(RequestCode.PULL_MESSAGE, header)

    def _header(self, offset: int, most: int) -> PullMessageRequestHeader:
        part, pulls = self._part, self._pulls
        return PullMessageRequestHeader(
            consumer_group=pulls.group,
            topic=part.topic,
            queue_id=part.queue_id,
            queue_offset=offset,
            max_msg_nums=most,
            sys_flag=PullFlag.SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription=pulls.expression.text,
            sub_version=0,
            expression_type=pulls.expression.kind,
        )

    def _head(self) -> bytes | None:
        """Take the first window's answer; ask for the rest of it if there is one."""
        window = self._windows[0]
        assert self._client is not None
        answer = self._client.finish(window.opaque)
        code = answer.code
        found: bytes | None = None
        if code == ResponseCode.SYSTEM_BUSY:
            raise TransportError(f"{self._addr} is busy: {answer.remark}")
        if code not in _READ:
            raise SparkSourceError(
                f"{self._addr} refused to read {self._part} with code {code}: {_line(answer)}"
            )
        reply = decode_header(PullMessageResponseHeader, answer.ext_fields)
        following = reply.next_begin_offset
        if code == ResponseCode.SUCCESS:
            found = bytes(answer.body)
            if not self._filtered:
                self._fit(window, following)
        elif following <= window.position or code == ResponseCode.PULL_NOT_FOUND:
            gone = replace(self._part, start=window.position)
            lost(gone, f"the queue ends at {following} now", self._pulls.fail_on_data_loss)
            self._windows.clear()
            self._next = self._part.end
            return None
        if reply.min_offset > window.position and following > window.position:
            gone = replace(self._part, start=window.position, end=min(reply.min_offset, window.end))
            why = f"expired while it was read: the queue begins at {reply.min_offset}"
            lost(gone, why, self._pulls.fail_on_data_loss)
        if following <= window.position:
            raise SparkSourceError(f"{self._addr} does not get on with {self._part} at {following}")
        window.position = following
        if window.position >= window.end:
            self._windows.popleft()
        else:
            self._ask(window)
        return found

    def _fit(self, window: _Window, following: int) -> None:
        """Make the next windows as long as one answer is: brokers stop at a number of bytes, too."""
        if following < window.end:
            self._step = max(following - window.position, 1)
        else:
            self._step = min(self._step * 2, self._pulls.batch_size)

    def _start_again(self, error: TransportError) -> None:
        """Another connection, to whoever has the queue now."""
        self._failures += 1
        if self._failures > self._connection.retries:
            raise SparkSourceError(
                f"{self._part} cannot be read after {self._failures} tries: {error}"
            ) from None
        log.warning("%s: %s; trying again", self._part, error)
        if self._client is not None:
            self._client.close()
            self._client = None
        time.sleep(_PAUSE * self._failures)
        with self._connection.admin() as admin:
            try:
                route = admin.topic_route(self._part.topic)
            except TransportError:
                return
        for broker in route.broker_datas:
            if broker.broker_name == self._part.broker_name:
                self._addr = preferred_addr(broker) or self._addr


_READ: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)


def _line(answer: RemotingCommand) -> str:
    return " ".join((answer.remark or "").split())
