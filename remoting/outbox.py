"""What a connection has yet to send: the one way out for replies, notices and questions.

Trio forbids two sends at a time on a stream, and a client that does not read must cost no memory:
so everything goes through here, in order, and above the bound the connection is not read any more.
"""

from collections import deque
from collections.abc import Callable

import trio

from trimq.remoting.counters import RemotingCounters
from trimq.remoting.peer import Buffer
from trimq.remoting.wire import Wire, remove


class Outbox:
    """Buffers on their way out. `size` counts their bytes and those that were reserved."""

    __slots__ = (
        "_buffers",
        "_closed",
        "_counters",
        "_limit",
        "_nursery",
        "_on_broken",
        "_sending",
        "_waiters",
        "_wire",
        "moved",
        "size",
    )

    def __init__(
        self,
        wire: Wire,
        limit: int,
        counters: RemotingCounters,
        on_broken: Callable[[str], None],
    ) -> None:
        self._wire = wire
        self._limit = limit
        self._counters = counters
        self._on_broken = on_broken
        self._buffers: deque[Buffer] = deque()
        self._nursery: trio.Nursery | None = None
        self._sending = False
        self._closed = False
        self._waiters: list[tuple[int, trio.Event]] = []
        self.size = 0
        # Something went out since this was last set to False: the connection is not idle.
        self.moved = False

    def open(self, nursery: trio.Nursery) -> None:
        """Start a sending task in this nursery whenever the wire would block."""
        self._nursery = nursery
        self._start()

    @property
    def full(self) -> bool:
        return self.size > self._limit

    def put(self, buffers: list[Buffer], size: int) -> None:
        """Send, now if possible. Never refuses: whoever produces asks for `room` before."""
        if self._closed:
            return
        sent = 0
        if not self._sending:
            try:
                sent = self._wire.send_now(buffers)
            except OSError as error:
                self._break(error)
                return
            if sent:
                self.moved = True
                self._counters.bytes_out += sent
                if sent == size:
                    return
        self.size += size - sent
        self._buffers.extend(buffers)
        remove(self._buffers, sent)
        if not self._sending:
            self._start()

    def reserve(self, size: int) -> None:
        """Count what will be put later, so that it is bounded too."""
        self.size += size

    def release(self, size: int) -> None:
        """Give back what was reserved."""
        self.size -= size
        self._wake()

    async def room(self) -> None:
        """Return at once below the bound, else when half of it has been sent."""
        if self.size > self._limit:
            await self.below(self._limit // 2)

    async def below(self, size: int) -> None:
        """Return when no more than so many bytes are left, or nothing will be sent any more."""
        while self.size > size and not self._closed:
            event = trio.Event()
            self._waiters.append((size, event))
            await event.wait()

    def close(self) -> None:
        """Send nothing more and forget what is left."""
        self._closed = True
        self._buffers.clear()
        self.size = 0
        self._wake()

    def _start(self) -> None:
        if self._buffers and self._nursery is not None:
            self._sending = True
            self._nursery.start_soon(self._send)

    async def _send(self) -> None:
        try:
            while self._buffers:
                self._went(await self._wire.send(self._buffers))
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._break(error)
        finally:
            self._sending = False

    def _went(self, sent: int) -> None:
        if sent:
            self.moved = True
            self._counters.bytes_out += sent
            self.size -= sent
            self._wake()

    def _wake(self) -> None:
        if self._waiters:
            ready = [event for size, event in self._waiters if self.size <= size or self._closed]
            self._waiters = [waiter for waiter in self._waiters if waiter[1] not in ready]
            for event in ready:
                event.set()

    def _break(self, error: Exception) -> None:
        self.close()
        self._on_broken(f"send failed: {error}")
