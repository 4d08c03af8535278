"""A master's end of the stream: slaves connect, say how far their logs go, and get what they lack
(DefaultHAService, DefaultHAConnection).

Per slave three tasks: one has its reports read, one watches for its silence, one sends what could not be sent in the
step in which the log grew. A slave that does not read costs these, and nothing else. Reports are read by the poller
that reads producers' requests: so they open the gate in the step in which they come, and the poller stays awake for the
one as for the other.
"""

from __future__ import annotations

import logging
import socket
import time
from contextlib import suppress
from typing import Final

import trio

from trimq.codec.layouts.ha import SLAVE_REPORT, unpack_report
from trimq.remoting.wire.poller import Poller
from trimq.remoting.wire.reading import while_readable
from trimq.remoting.wire.streams import SocketWire
from trimq.replication.admission import SILENT_SECONDS, Admission, host_of
from trimq.replication.config import ReplicationConfig
from trimq.replication.hosts import Hosts
from trimq.replication.last_contact import LastContact
from trimq.replication.link_end import LinkEnd
from trimq.replication.sender import Sender
from trimq.replication.slaves import SlaveLink, Slaves
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.replication")

REPORT_SIZE: Final = SLAVE_REPORT.sizeof()
_COMPLAIN_SECONDS: Final = 60
_AHEAD: Final = (
    "is ahead of this one, so it has what is lost here: keep its store. If this broker does not get its own store "
    "back, stop it, make the slave the master (brokerRole=ASYNC_MASTER, brokerId=0), and start this one as its slave "
    "with an empty store"
)
_NOWHERE: Final = "ends nowhere: what reports that is no slave"
_BEFORE: Final = "ends before this one begins: stop it, remove its store and start it empty"


class Master:
    """Serves slaves on a listening socket."""

    def __init__(self, config: ReplicationConfig, store: MessageStore, slaves: Slaves) -> None:
        self._config = config
        self._store = store
        self._slaves = slaves
        self._senders: list[Sender] = []
        self._admission = Admission(slaves)
        self._complained = Hosts()
        self._refused = Hosts()
        # When each host was last sent away because its log does not fit.
        self._astray_at = Hosts()

    def astray(self) -> list[str]:
        """Hosts of slaves whose logs do not fit, and which still try: they come again every few seconds."""
        return sorted(self._astray_at.since(time.monotonic() - _COMPLAIN_SECONDS))

    def grown(self) -> None:
        """The log has more than before."""
        for sender in self._senders:
            sender.push()

    def cut(self, end: int) -> None:
        """The log ends there now: every slave connects anew and says how far its own goes."""
        for sender in self._senders:
            sender.end()

    async def serve(
        self,
        sock: socket.socket,
        poller: Poller | None = None,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until cancelled. `poller`: that of the producers whose replies wait for reports."""
        sock.setblocking(False)
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                await trio.lowlevel.wait_readable(sock)
                try:
                    stream, address = sock.accept()
                except BlockingIOError:
                    continue
                except OSError as error:
                    log.warning("a slave could not be accepted: reason=%s", error)
                    await trio.sleep(0.1)
                    continue
                if not self._admission.admit(address[0]):
                    stream.close()
                    if self._is_due(self._refused, address[0]):
                        log.warning("too many slaves, refused: address=%s", address[0])
                    continue
                link = SlaveLink(f"{address[0]}:{address[1]}")
                # At once: the next one is counted with it.
                self._slaves.joined(link)
                nursery.start_soon(self._serve_one, stream, link, poller)

    def _is_due(self, hosts: Hosts, host: str) -> bool:
        """Whether to say something of that host: once a minute."""
        now = trio.current_time()
        if now - hosts.at(host) < _COMPLAIN_SECONDS:
            return False
        hosts.note(host, now)
        return True

    async def _serve_one(self, sock: socket.socket, link: SlaveLink, poller: Poller | None) -> None:
        address = link.address
        wire = SocketWire(sock)
        sender = Sender(self._config, self._store, wire, link)
        why = "closed"
        self._senders.append(sender)
        scope = trio.CancelScope()
        self._admission.enter(link, scope)
        log.info("slave connected: address=%s", address)
        try:
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            with scope:
                await self._serve_link(wire, poller, link, sender)
            if scope.cancelled_caught:
                why = "said nothing, and another one needs its place"
        except* LinkEnd as over:
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
            self._admission.leave(link)
            self._senders.remove(sender)
            self._slaves.left(link)
            await wire.aclose()
        log.info("slave gone: address=%s acked=%d reason=%s", address, link.acked, why)

    async def _serve_link(
        self, wire: SocketWire, poller: Poller | None, link: SlaveLink, sender: Sender
    ) -> None:
        async with trio.open_nursery() as nursery:
            first, heard = trio.Event(), LastContact(trio.current_time())
            nursery.start_soon(self._read_reports, wire, poller, link, first, heard)
            silence = SILENT_SECONDS + self._config.ha_send_heartbeat_interval / 1000
            with trio.move_on_after(silence):
                await first.wait()
            if not first.is_set():
                raise LinkEnd(f"said nothing for {silence:g} s")
            nursery.start_soon(self._watch_silence, heard)
            await sender.run()

    # --- from the slave

    async def _read_reports(
        self,
        wire: SocketWire,
        poller: Poller | None,
        link: SlaveLink,
        first: trio.Event,
        heard: LastContact,
    ) -> None:
        """The newest whole report counts, wherever the ones before it were cut."""
        pending = b""

        def read() -> bool:
            nonlocal pending
            data = wire.receive_now()
            if data is None:
                return True
            if not data:
                return False
            pending += data
            whole = len(pending) - len(pending) % REPORT_SIZE
            if whole:
                offset = unpack_report(pending, whole - REPORT_SIZE)
                pending = pending[whole:]
                self._reported(link, offset, first)
            # After what waits for the report.
            heard.at = trio.current_time()
            return True

        await while_readable(wire, poller, read, answers=True)
        raise LinkEnd("closed by the slave")

    async def _watch_silence(self, heard: LastContact) -> None:
        """LinkEnd when nothing came for too long."""
        silence = self._config.ha_housekeeping_interval / 1000
        await heard.older_than(silence)
        raise LinkEnd(f"silent for {silence:g} s")

    def _reported(self, link: SlaveLink, offset: int, first: trio.Event) -> None:
        end = self._store.max_physical_offset
        if offset > end or offset < 0:
            self._astray(link, offset, _AHEAD if offset > end else _NOWHERE)
        elif not first.is_set():
            if offset == 0:
                # From the beginning of the last file.
                offset = max(self._store.next_log_file(end) - self._file_size(end), 0)
                link.sent_to = offset
            else:
                link.sent_to = offset
                self._slaves.reported(link, offset)
            if link.sent_to < self._store.min_physical_offset:
                self._astray(link, offset, _BEFORE)
            self._astray_at.forget(host_of(link))
            first.set()
        elif not link.astray:
            self._slaves.reported(link, offset)

    def _file_size(self, end: int) -> int:
        following = self._store.next_log_file(end)
        return self._store.next_log_file(following) - following

    def _astray(self, link: SlaveLink, offset: int, how: str) -> None:
        """Nothing is sent to it: its log would differ from ours, and nobody could tell."""
        link.astray = True
        host = host_of(link)
        self._astray_at.note(host, time.monotonic())
        if self._is_due(self._complained, host):
            log.error(
                "a slave gets nothing, because its log %s: address=%s its_end=%d begin=%d end=%d",
                how,
                link.address,
                offset,
                self._store.min_physical_offset,
                self._store.max_physical_offset,
            )
        raise LinkEnd(f"its log ends at {offset}")
