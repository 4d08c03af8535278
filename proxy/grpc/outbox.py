"""What leaves on one connection: answers take turns, a frame each, and wait while too much is on its way.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import trio

from trimq.proxy.http2.connection import FRAME_MOST, Http2Connection
from trimq.remoting.memory_budget import Share
from trimq.remoting.peer import Buffer


class _Turn:
    """A message of which not all has left."""

    __slots__ = ("at", "body", "done", "since", "stream")

    def __init__(self, stream: int, body: bytes) -> None:
        self.stream = stream
        self.body = body
        self.at = 0
        self.done = trio.Event()
        self.since = 0.0


class Outbox:
    """`most`: bytes on their way. `wake`: whoever sends has something to do."""

    def __init__(
        self, http: Http2Connection, share: Share, most: int, wake: Callable[[], None]
    ) -> None:
        self._http = http
        self._share = share
        self._most: Final = most
        self._wake = wake
        self._turns: deque[_Turn] = deque()
        self._blocked: dict[int, _Turn] = {}
        # Bytes of bodies that were handed to HTTP/2 since it was last asked for what is outgoing.
        self._handed = 0
        # To be sent, with all of HTTP/2's own.
        self.chunks: deque[Buffer] = deque()
        self.size = 0

    @property
    def is_full(self) -> bool:
        """So much waits to be sent that nothing should be received that makes it more."""
        return self.size >= 2 * self._most

    @property
    def is_empty(self) -> bool:
        return not (self.chunks or self._turns or self._blocked)

    async def send(self, stream: int, body: bytes) -> None:
        """Returns when all of it is on its way."""
        http = self._http
        if (
            not self._turns
            and len(body) <= FRAME_MOST
            and self.size + self._handed < self._most
            and http.room(stream) >= len(body)
        ):
            http.send_data(stream, body)
            self._handed += len(body)
            self._wake()
            return
        turn = _Turn(stream, body)
        self._share.add(len(body))
        self._turns.append(turn)
        self._wake()
        try:
            await turn.done.wait()
        finally:
            self._share.add(-len(body))
            self._blocked.pop(stream, None)
            if turn.at < len(body):
                turn.body = b""

    def room(self, stream: int) -> None:
        """The peer takes more: on one stream, or on all (0)."""
        if not self._blocked:
            return
        if stream == 0:
            self._turns += self._blocked.values()
            self._blocked.clear()
        elif (turn := self._blocked.pop(stream, None)) is not None:
            self._turns.append(turn)

    def collect(self, now: float) -> None:
        """As much as may be on its way, from all in turn."""
        if self._turns:
            self._pump(now)
        data = self._http.outgoing()
        self._handed = 0
        if data:
            self.chunks.append(data)
            self.size += len(data)

    def _pump(self, now: float) -> None:
        http, turns = self._http, self._turns
        while turns and self.size + self._handed < self._most:
            turn = turns.popleft()
            if turn.at >= len(turn.body):
                # Given up meanwhile.
                continue
            room = http.room(turn.stream)
            if not room:
                self._blocked[turn.stream] = turn
                turn.since = turn.since or now
                continue
            turn.since = 0.0
            piece = turn.body[turn.at : turn.at + room]
            http.send_data(turn.stream, piece)
            self._handed += len(piece)
            turn.at += len(piece)
            if turn.at == len(turn.body):
                turn.done.set()
            else:
                turns.append(turn)

    def oldest_wait(self, now: float) -> float:
        """Seconds for which the peer has taken nothing of a stream that has more."""
        return max((now - turn.since for turn in self._blocked.values()), default=0.0)
