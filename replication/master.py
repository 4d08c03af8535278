"""A master's end of the stream: slaves connect, say how far their logs go, and get what they lack
(DefaultHAService, DefaultHAConnection).

Per slave two tasks: one reads its reports, one waits for the log to grow and sends. A slave that does not read
costs these two, and nothing else.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import trio

from trimq.codec.layouts.ha import MASTER_HEAD, SLAVE_REPORT
from trimq.remoting.wire.streams import remove
from trimq.replication.config import ReplicationConfig
from trimq.replication.pace import Pace
from trimq.replication.slaves import SlaveLink, Slaves
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.replication")

# A Java slave's buffer has 4 MiB, and header and body must fit.
LARGEST_PIECE: Final = 1024 * 1024
REPORT_SIZE: Final = SLAVE_REPORT.sizeof()
_COMPLAIN_SECONDS: Final = 60
_RECEIVE: Final = 4096
# Whoever reaches the port may connect: no more than these at a time.
_MOST_LINKS: Final = 64

Buffer = bytes | bytearray | memoryview


class LinkOver(Exception):
    """The connection is of no use any more; the text says why."""


class Master:
    """Serves slaves on a listening socket."""

    def __init__(self, config: ReplicationConfig, store: MessageStore, slaves: Slaves) -> None:
        self._config = config
        self._store = store
        self._slaves = slaves
        self._growth = trio.lowlevel.ParkingLot()
        self._complained: dict[str, float] = {}

    def grown(self) -> None:
        """The log has more than before."""
        if self._growth:
            self._growth.unpark_all()

    async def serve(
        self, sock: socket.socket, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Until cancelled."""
        listener = trio.socket.from_stdlib_socket(sock)
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                try:
                    stream, address = await listener.accept()
                except OSError as error:
                    log.warning("a slave could not be accepted: reason=%s", error)
                    await trio.sleep(0.1)
                    continue
                if len(self._slaves) >= _MOST_LINKS:
                    log.warning("too many slaves, refused: address=%s", address[0])
                    stream.close()
                    continue
                nursery.start_soon(self._serve_one, stream, f"{address[0]}:{address[1]}")

    async def _serve_one(self, stream: trio.socket.SocketType, address: str) -> None:
        link = SlaveLink(address)
        why = "closed"
        self._slaves.joined(link)
        log.info("slave connected: address=%s", address)
        try:
            with suppress(OSError):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            async with trio.open_nursery() as nursery:
                first = trio.Event()
                nursery.start_soon(self._read_reports, stream, link, first)
                await first.wait()
                await self._send(stream, link)
        except* LinkOver as over:
            why = str(over.exceptions[0])
        except* OSError as error:
            why = str(error.exceptions[0])
        except* StoreError as error:
            why = str(error.exceptions[0])
        except* Exception as errors:
            # A bug, or a machine in trouble: it ends this link, and no other.
            why = "an unforeseen failure"
            log.exception("a slave's link failed: address=%s", address, exc_info=errors)
        finally:
            self._slaves.left(link)
            stream.close()
        log.info("slave gone: address=%s acked=%d reason=%s", address, link.acked, why)

    # --- from the slave

    async def _read_reports(
        self, stream: trio.socket.SocketType, link: SlaveLink, first: trio.Event
    ) -> None:
        """The newest whole report counts, wherever the ones before it were cut."""
        pending = b""
        silence = self._config.ha_housekeeping_interval / 1000
        while True:
            with trio.move_on_after(silence) as patience:
                data = await stream.recv(_RECEIVE)
            if patience.cancelled_caught:
                raise LinkOver(f"silent for {silence:g} s")
            if not data:
                raise LinkOver("closed by the slave")
            pending += data
            whole = len(pending) - len(pending) % REPORT_SIZE
            if whole:
                report = SLAVE_REPORT.parse(pending[whole - REPORT_SIZE : whole])
                pending = pending[whole:]
                self._reported(link, report.max_offset, first)

    def _reported(self, link: SlaveLink, offset: int, first: trio.Event) -> None:
        end = self._store.max_physical_offset
        if offset > end or offset < 0:
            self._astray(link, offset, "is ahead of")
        elif not first.is_set():
            if offset == 0:
                # From the beginning of the last file.
                offset = max(self._store.next_log_file(end) - self._file_size(end), 0)
                link.sent_to = offset
            else:
                link.sent_to = offset
                self._slaves.reported(link, offset)
            if link.sent_to < self._store.min_physical_offset:
                self._astray(link, offset, "ends before")
            first.set()
        elif not link.astray:
            self._slaves.reported(link, offset)

    def _file_size(self, end: int) -> int:
        following = self._store.next_log_file(end)
        return self._store.next_log_file(following) - following

    def _astray(self, link: SlaveLink, offset: int, how: str) -> None:
        """Nothing is sent to it: its log would differ from ours, and nobody could tell."""
        link.astray = True
        now = trio.current_time()
        host = link.address.rpartition(":")[0]
        if now - self._complained.get(host, -_COMPLAIN_SECONDS) >= _COMPLAIN_SECONDS:
            self._complained[host] = now
            log.error(
                "a slave's log %s this one and gets nothing: stop it, remove its store and start it empty: "
                "address=%s its_end=%d begin=%d end=%d",
                how,
                link.address,
                offset,
                self._store.min_physical_offset,
                self._store.max_physical_offset,
            )
        raise LinkOver(f"its log ends at {offset}")

    # --- to the slave

    async def _send(self, stream: trio.socket.SocketType, link: SlaveLink) -> None:
        pace = Pace(self._config)
        idle = self._config.ha_send_heartbeat_interval / 1000
        while True:
            size = self._next_size(link.sent_to)
            if size:
                size = await pace.allow(size)
                pieces = await self._load(link.sent_to, size)
                await send_all(stream, self._head(link.sent_to, size), pieces)
                link.sent_to += size
                link.rate.count(size, trio.current_time())
                continue
            with trio.move_on_after(idle) as pause:
                await self._growth.park()
            if pause.cancelled_caught and not self._next_size(link.sent_to):
                link.rate.count(0, trio.current_time())
                await send_all(stream, self._head(link.sent_to, 0), ())

    def _next_size(self, offset: int) -> int:
        """How much is sent in one piece: never over a file's end."""
        store = self._store
        end = min(store.max_physical_offset, store.next_log_file(offset), offset + LARGEST_PIECE)
        return end - offset

    @staticmethod
    def _head(offset: int, size: int) -> bytes:
        head: bytes = MASTER_HEAD.build({"offset": offset, "size": size})
        return head

    async def _load(self, offset: int, size: int) -> Sequence[Buffer]:
        """Views of the page cache; what is only on the disk is read by a worker thread."""
        try:
            views = self._store.view([(offset, size)])
            if views is not None:
                return views
            held = self._store.hold([(offset, size)])
        except MessagesGone as error:
            raise LinkOver(f"the log begins after what it needs: {error}") from error
        try:
            return await trio.to_thread.run_sync(held.read)
        finally:
            held.release()


async def send_all(stream: trio.socket.SocketType, head: bytes, pieces: Sequence[Buffer]) -> None:
    """One system call, unless the slave is slow."""
    buffers: deque[Buffer] = deque((head, *pieces))
    while buffers:
        sent = await stream.sendmsg(list(buffers))
        remove(buffers, sent)
