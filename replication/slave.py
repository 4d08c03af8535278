"""A slave's end of the stream: it says how far its log goes, and takes over what follows (DefaultHAClient).

States: looking for the master's address -> connecting -> comparing -> copying -> (silence, a cut, another offset than
expected, a master with another log) -> connecting again. Nothing is reported, and so nothing comes, before it is known
that the master's log is the one that this is a copy of; only where that cannot be asked, it is copied meanwhile.

Its report goes out at once after that, after every receive that brought bytes, and when nothing was said for
haSendHeartbeatInterval. An acknowledged byte is in the page cache, as with the original.
Copying goes before deriving: queues follow once the report is out, in the same step when little has come, else a
millisecond later, as there (ReputMessageService), in small steps while bytes keep coming, and hardly while a backlog
does.
"""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.codec.layouts.ha import pack_report
from trimq.remoting.contract import RemotingError
from trimq.remoting.wire.poller import AVAILABLE, Poller
from trimq.remoting.wire.reading import while_readable
from trimq.remoting.wire.streams import SocketWire
from trimq.replication.config import ReplicationConfig
from trimq.replication.last_contact import LastContact
from trimq.replication.rate import Rate
from trimq.replication.transfer_reading import LinkLost, TransferReader
from trimq.store.errors import StoreError
from trimq.store.slave.copied_log import STEP_RECORDS, CopiedLog

log = logging.getLogger("trimq.replication")

_RECEIVE: Final = 1024 * 1024
_CONNECT_SECONDS: Final = 3
# While bytes keep coming: about as long as the receive of 64 KiB.
_SMALL_STEP_RECORDS: Final = 64
# Before queues follow: what comes meanwhile is entered with it.
_FOLLOW_SECONDS: Final = 0.001
# So little is entered at once: it costs less than to wake a task for it, and the master has the report already.
_AT_ONCE_BYTES: Final = 4096
# So much in one receive is a backlog.
_BACKLOG_BYTES: Final = 256 * 1024
_BACKLOG_PAUSE: Final = 0.005
_NO_ADDRESS: Final = (
    "no HOST:PORT where a master lets its log be copied: set haMasterAddress here,"
    " or brokerIP2 and haListenPort there"
)
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_COMPLAIN_SECONDS: Final = 60
_COMPARE_SECONDS: Final = 3

# The master's HA address, asked for before each connection; None while nobody knows it.
FindMaster = Callable[[], Awaitable[str | None]]
# Why the master's log is not the one that this is a copy of, and what to do; None: it is. RemotingError: not known.
Compare = Callable[[], Awaitable[str | None]]


class LogAstray(Exception):
    """The master's log is another one; the text says what to do."""


async def same() -> str | None:
    """There is nobody to be asked."""
    return None


class Slave:
    """Copies its master's log until cancelled; `run` and `derive` are two services."""

    def __init__(
        self,
        config: ReplicationConfig,
        copied: CopiedLog,
        find_master: FindMaster,
        clock: Clock,
        compare: Compare = same,
    ) -> None:
        self._config = config
        self._copied = copied
        self._find_master = find_master
        self._compare = compare
        # Whether there is a link to a master with the log that this is a copy of, and who is told when there is.
        self.is_same = False
        self.on_same: Callable[[], object] = lambda: None
        self._clock = clock
        self._arrived = trio.Event()
        copied.listen(self._wake)
        self._reporting = trio.Lock()
        # Of a report that did not go out in one piece.
        self._unsaid = b""
        self._state = ""
        # When something was complained of, by state.
        self._complained_at: dict[str, float] = {}
        # Where the master is while there is a connection, for those who ask.
        self.master: str | None = None
        # Where it was looked for last, whether it was there or not.
        self.sought: str | None = None
        # Milliseconds since 1970 of the last bytes in either direction, or of looking for the master since.
        self.read_at = self.wrote_at = clock.millis()
        self.received = 0
        self._is_backlog = False
        self._spoke = LastContact()
        self._heard = LastContact()
        self._rate = Rate()

    def bytes_per_second(self, now: float) -> int:
        return self._rate.per_second(now)

    @property
    def max_offset(self) -> int:
        return self._copied.end

    @property
    def derived(self) -> int:
        """How far queues have followed."""
        return self._copied.derived

    @property
    def behind(self) -> int:
        """Bytes that were copied and that no queue has yet (dispatchBehindBytes)."""
        return self._copied.end - self._copied.derived

    async def run(self) -> None:
        pause = _SHORTEST_PAUSE
        while True:
            address = await self._find_master()
            self.read_at = self._clock.millis()
            if address is None:
                if self._is_news("waiting"):
                    log.warning("waiting for a master: no NameServer knows one that can be asked")
            else:
                self.sought = address
                before = self.received
                await self._copy_while_it_lasts(address)
                if self.received > before:
                    pause = _SHORTEST_PAUSE
            await trio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def derive(self) -> None:
        """Let the queues follow, in steps between which others have their turn."""
        while True:
            self._arrived = trio.Event()
            received, step = self.received, STEP_RECORDS
            try:
                while self._copied.derive_some(step):
                    if received == self.received:
                        step = STEP_RECORDS
                        await trio.lowlevel.checkpoint()
                        continue
                    received, step = self.received, _SMALL_STEP_RECORDS
                    if self._is_backlog:
                        await trio.sleep(_BACKLOG_PAUSE)
                    else:
                        await trio.lowlevel.checkpoint()
            except StoreError as error:
                log.error("queues do not follow the copied log, trying again: reason=%s", error)
                await trio.sleep(1)
                continue
            await self._arrived.wait()
            await trio.sleep(_FOLLOW_SECONDS)

    def _follow(self) -> None:
        """Bytes have come: let the queues follow, now or soon."""
        if self.behind <= _AT_ONCE_BYTES:
            try:
                # What is left then is a part of a record, or behind the bound: more will come, or be shown.
                self._copied.derive_some(_SMALL_STEP_RECORDS)
                return
            except StoreError:
                # The task meets it too, says so and tries again.
                pass
        self._arrived.set()

    def _wake(self) -> None:
        self._arrived.set()

    def _is_news(self, state: str) -> bool:
        """One line per change of state."""
        before, self._state = self._state, state
        return before != state

    async def _copy_while_it_lasts(self, address: str) -> None:
        try:
            await self._copy(address)
        except* StoreError as group:
            self._complain(
                "cannot write", "the master's log cannot be written here", address, group
            )
        except* LogAstray as group:
            self._complain(
                "astray", "nothing is copied from a master with another log", address, group
            )
        except* (LinkLost, OSError) as group:
            if self._is_news("lost"):
                log.warning(
                    "master lost, trying again: master=%s reason=%s", address, group.exceptions[0]
                )
        finally:
            self.master = None
            self.is_same = False

    def _complain(
        self, state: str, what: str, address: str, group: BaseExceptionGroup[Exception]
    ) -> None:
        """Somebody has to do something (often a disk is full), and hears of it as long as it lasts."""
        self._state = state
        now = trio.current_time()
        if now - self._complained_at.get(state, -math.inf) >= _COMPLAIN_SECONDS:
            self._complained_at[state] = now
            log.error(
                f"{what}, trying again: master=%s end=%d reason=%s",
                address,
                self._copied.end,
                group.exceptions[0],
            )

    async def _copy(self, address: str) -> None:
        host, port = _parsed(address)
        with trio.move_on_after(_CONNECT_SECONDS) as patience:
            try:
                stream = await trio.open_tcp_stream(host, port)
            except UnicodeError as error:
                raise LinkLost(f"{_NO_ADDRESS}: {error}") from None
        if patience.cancelled_caught:
            raise LinkLost(f"no connection within {_CONNECT_SECONDS} s")
        sock = socket.socket(fileno=stream.socket.detach())
        wire = SocketWire(sock)
        # For this one socket: a master's next bytes often come right after a report.
        poller = Poller() if AVAILABLE else None
        self._unsaid = b""
        try:
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            self.is_same = await self._ask_whether_same()
            async with trio.open_nursery() as nursery:
                self._heard.at = trio.current_time()
                await self._report(wire)
                self.master = address
                if self._is_news("copying"):
                    log.info("copying a master's log: master=%s from=%d", address, self._copied.end)
                nursery.start_soon(self._compare_later)
                nursery.start_soon(self._show_life, wire)
                nursery.start_soon(self._watch_silence)
                if poller is not None:
                    nursery.start_soon(poller.run)
                await self._receive(wire, poller)
        finally:
            if poller is not None:
                poller.close()
            await wire.aclose()

    async def _ask_whether_same(self) -> bool:
        """False when that is not known. LogAstray."""
        try:
            why = await self._compare()
        except RemotingError:
            return False
        if why is not None:
            raise LogAstray(why)
        return True

    async def _compare_later(self) -> None:
        """If that was not possible at once."""
        while not self.is_same:
            await trio.sleep(_COMPARE_SECONDS)
            self.is_same = await self._ask_whether_same()
        self.on_same()

    async def _receive(self, wire: SocketWire, poller: Poller | None) -> None:
        incoming = TransferReader(self._copied)
        buffer = memoryview(bytearray(_RECEIVE))

        def receive() -> bool:
            """False while a report does not go out. That comes first: a producer may wait for it."""
            count = wire.receive_into(buffer)
            if count < 0:
                return True
            if not count:
                raise LinkLost("closed by the master")
            taken = incoming.take(buffer[:count])
            is_said = not taken or self._report_now(wire)
            now = self._heard.at = trio.current_time()
            self.read_at = self._clock.millis()
            if taken:
                self._is_backlog = taken >= _BACKLOG_BYTES
                self.received += taken
                self._rate.count(taken, now)
                self._follow()
            return is_said

        while True:
            await while_readable(wire, poller, receive)
            await self._report(wire)

    def _report_now(self, wire: SocketWire) -> bool:
        """How far the log goes, in this step; False when the master does not read."""
        is_said = not self._unsaid and self._say(wire)
        self.wrote_at = self._clock.millis()
        self._spoke.at = trio.current_time()
        return is_said

    async def _report(self, wire: SocketWire) -> None:
        """The same; waits until the master reads."""
        if self._report_now(wire):
            return
        async with self._reporting:
            while True:
                is_new = not self._unsaid
                if self._say(wire) and is_new:
                    return
                if self._unsaid:
                    await wire.writable()

    def _say(self, wire: SocketWire) -> bool:
        """Whether a report, or what is left of one, has gone out whole."""
        report = self._unsaid or pack_report(self._copied.end)
        self._unsaid = report[wire.send_now([report]) :]
        return not self._unsaid

    async def _watch_silence(self) -> None:
        """LinkLost when nothing came for too long."""
        silence = self._config.ha_housekeeping_interval / 1000
        await self._heard.older_than(silence)
        raise LinkLost(f"silent for {silence:g} s")

    async def _show_life(self, wire: SocketWire) -> None:
        interval = self._config.ha_send_heartbeat_interval / 1000
        while True:
            await self._spoke.older_than(interval)
            await self._report(wire)


def _parsed(address: str) -> tuple[str, int]:
    """Host and port. LinkLost for what cannot be either."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise LinkLost(_NO_ADDRESS)
    return host.strip("[]"), int(port)
