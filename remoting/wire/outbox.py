"""What a connection has yet to send: the only exit for replies, notices and questions.

Trio forbids two sends at a time on a stream, and a client that does not read must cost no memory:
so everything goes through here, in order, and above the bound the connection is no longer read.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from mmap import mmap

import trio

from trimq.base.file_body import FileBody
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.memory_budget import Share
from trimq.remoting.peer import Buffer
from trimq.remoting.wire.file_sender import FileSender, Mailing
from trimq.remoting.wire.streams import Wire, remove

log = logging.getLogger("trimq.remoting")


class Outbox:
    """Buffers on their way out. `size` counts their bytes and those that were reserved."""

    __slots__ = (
        "_buffers",
        "_closed",
        "_counters",
        "_kept",
        "_lane",
        "_lent",
        "_limit",
        "_mailings",
        "_nursery",
        "_on_broken",
        "_sending",
        "_share",
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
        lane: FileSender | None = None,
        share: Share | None = None,
    ) -> None:
        """`share`: of the memory for all connections."""
        self._wire = wire
        self._limit = limit
        self._counters = counters
        self._on_broken = on_broken
        self._lane = lane
        self._share = share
        # Bytes that are in no file, as counted in the share: never more than are left.
        self._kept = 0
        self._buffers: deque[Buffer] = deque()
        # What a thread sends, one after the other. The first is with a thread, or waits for the
        # socket, while `_sending`.
        self._mailings: deque[Mailing] = deque()
        self._nursery: trio.Nursery | None = None
        self._sending = False
        self._lent = False
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
        """Send, now if possible. Never refuses: producers wait for `room` first."""
        if self._closed:
            return
        sent = 0
        # Before `open` there may be some that nobody sends yet: these come behind them.
        if not self._sending and not self._buffers:
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
        kept = 0
        for buffer in buffers:
            if not _is_mapped(buffer):
                kept += len(buffer)
        self._buffers.extend(buffers)
        remove(self._buffers, sent)
        if not self._sending:
            self._start()
        self._keep(self._kept + max(kept - sent, 0))

    def put_files(self, head: bytes, body: FileBody) -> None:
        """Let a thread send it: for a peer that takes files."""
        if self._closed:
            body.close()
            return
        self.size += len(head) + body.size
        self._mailings.append(Mailing(head, body))
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
        """Return when no more than this many bytes are left, or nothing will be sent any more."""
        while self.size > size and not self._closed:
            event = trio.Event()
            self._waiters.append((size, event))
            await event.wait()

    def close(self) -> None:
        """Send nothing more and forget what is left."""
        self._closed = True
        self._buffers.clear()
        if not self._lent:
            self._drop_mailings()
        self.size = 0
        self._keep(0)
        self._wake()

    def _keep(self, kept: int) -> None:
        """Count it in the share, which may close this connection too."""
        before, self._kept = self._kept, kept
        if self._share is not None and kept != before:
            self._share.add(kept - before)

    def _drop_mailings(self) -> None:
        while self._mailings:
            self._mailings.popleft().close()

    def _start(self) -> None:
        if self._nursery is None or self._closed:
            return
        if self._buffers:
            self._sending = True
            self._start_task(self._send)
        elif self._mailings:
            self._mail()

    def _start_task(self, task: Callable[[], Awaitable[None]]) -> None:
        assert self._nursery is not None
        try:
            self._nursery.start_soon(task)
        except RuntimeError:
            # The connection is ending: its nursery takes no tasks any more.
            self.close()

    def _mail(self) -> None:
        """Give the first mailing to a thread."""
        assert self._lane is not None
        self._sending = self._lent = True
        self._lane.submit(self._mailings[0], self._wire.lend(), self._mailed)

    def _mailed(self, mailing: Mailing) -> None:
        """It is back: everything is out, or the socket takes no more, or it is broken."""
        self._lent = False
        self._wire.back()
        sent, mailing.sent = mailing.sent, 0
        self._went(sent)
        if self._closed:
            self._drop_mailings()
        elif mailing.error is not None:
            log.error("a reply from files cannot be sent: reason=%s", mailing.error)
            self._break(mailing.error)
        elif mailing.is_done:
            self._mailings.popleft().close()
            self._sending = False
            self._start()
        else:
            self._start_task(self._mail_when_writable)

    async def _mail_when_writable(self) -> None:
        try:
            await self._wire.writable()
        except (OSError, trio.ClosedResourceError) as error:
            self._break(error)
            return
        if not self._closed:
            self._mail()

    async def _send(self) -> None:
        try:
            while self._buffers:
                self._went(await self._wire.send(self._buffers))
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._break(error)
        finally:
            self._sending = False
        self._start()

    def _went(self, sent: int) -> None:
        if sent:
            self.moved = True
            self._counters.bytes_out += sent
            self.size -= sent
            if self._kept > self.size:
                self._keep(self.size)
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


def _is_mapped(buffer: Buffer) -> bool:
    """Whether its bytes are a file's, and need no memory of this process."""
    return isinstance(buffer, memoryview) and isinstance(buffer.obj, mmap)
