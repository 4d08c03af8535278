"""What one slave lacks goes to it: at most 1 MiB in one piece, and never over a file's end (DefaultHAConnection).

A slave that has everything gets the next bytes in the step in which they are written, as far as its socket takes them.
All else is its task's: a backlog, bytes that are only on the disk, a slow reader, haFlowControlEnable, signs of life.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import trio

from trimq.codec.layouts.ha import pack_head
from trimq.remoting.peer import Buffer
from trimq.remoting.wire.streams import SocketWire, remove
from trimq.replication.config import ReplicationConfig
from trimq.replication.link_end import LinkEnd
from trimq.replication.pace import Pace
from trimq.replication.slaves import SlaveLink
from trimq.store.errors import MessagesGone
from trimq.store.message_store import MessageStore

# A Java slave's buffer has 4 MiB, and header and body must fit.
LARGEST_PIECE: Final = 1024 * 1024
# Larger ones are left to the task: producers wait for the step in which the log grows.
_LARGEST_PUSH: Final = 64 * 1024


class Sender:
    """`run` is the task; `push` is called when the log has grown."""

    __slots__ = (
        "_config",
        "_grown",
        "_is_idle",
        "_is_over",
        "_link",
        "_pace",
        "_rest",
        "_spoke",
        "_store",
        "_wire",
    )

    def __init__(
        self, config: ReplicationConfig, store: MessageStore, wire: SocketWire, link: SlaveLink
    ) -> None:
        self._config = config
        self._store = store
        self._wire = wire
        self._link = link
        self._pace = Pace(config)
        # Of a piece that the socket did not take whole.
        self._rest: deque[Buffer] = deque()
        self._grown = trio.Event()
        self._is_idle = False
        self._is_over = False
        self._spoke = 0.0

    def end(self) -> None:
        """The log was cut: the slave has to say anew how far it has got."""
        self._is_over = True
        self._is_idle = False
        self._grown.set()

    def push(self) -> None:
        """Send what is new without waiting; what that cannot do is left to the task."""
        if not self._is_idle:
            return
        size = self._next_size()
        if not size:
            return
        if size <= _LARGEST_PUSH and not self._config.ha_flow_control_enable:
            try:
                views = self._store.view([(self._link.sent_to, size)])
                if views is not None:
                    self._start(size, views)
            except (OSError, MessagesGone):
                # The task will meet it too, and end the link.
                pass
        if self._rest or self._next_size():
            self._is_idle = False
            self._grown.set()

    async def run(self) -> None:
        """Until cancelled. LinkEnd, OSError."""
        while True:
            while self._rest and not self._is_over:
                await self._wire.send(self._rest)
            if self._is_over:
                raise LinkEnd("this log was cut")
            size = self._next_size()
            if size:
                size = await self._pace.allow(size)
                if self._is_over:
                    continue
                self._start(size, await self._load(size))
                # Others have their turn, and a link that is over ends.
                await trio.lowlevel.checkpoint()
            else:
                await self._wait()

    async def _wait(self) -> None:
        """For growth that `push` cannot deal with; says meanwhile that the master lives."""
        interval = self._config.ha_send_heartbeat_interval / 1000
        self._grown = trio.Event()
        self._is_idle = True
        self._spoke = trio.current_time()
        try:
            while not self._grown.is_set():
                with trio.move_on_at(self._spoke + interval):
                    await self._grown.wait()
                if self._is_idle and trio.current_time() >= self._spoke + interval:
                    self._start(0, ())
                    if self._rest:
                        return
        finally:
            self._is_idle = False

    def _start(self, size: int, pieces: Sequence[Buffer]) -> None:
        """One system call, and what is left of it."""
        link = self._link
        buffers: list[Buffer] = [pack_head(link.sent_to, size), *pieces]
        sent = self._wire.send_now(buffers)
        now = self._spoke = trio.current_time()
        self._rest.extend(buffers)
        remove(self._rest, sent)
        link.sent_to += size
        link.rate.count(size, now)

    def _next_size(self) -> int:
        """How much is sent in one piece."""
        store, offset = self._store, self._link.sent_to
        end = min(store.max_physical_offset, store.next_log_file(offset), offset + LARGEST_PIECE)
        return end - offset

    async def _load(self, size: int) -> Sequence[Buffer]:
        """Views of the page cache; what is only on the disk is read by a worker thread."""
        extents = [(self._link.sent_to, size)]
        try:
            views = self._store.view(extents)
            if views is not None:
                return views
            held = self._store.hold(extents)
        except MessagesGone as error:
            raise LinkEnd(f"the log begins after what it needs: {error}") from error
        try:
            return await trio.to_thread.run_sync(held.read)
        finally:
            held.release()
