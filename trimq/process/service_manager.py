"""Tells the service manager that started this process, if one did, how it is (systemd's sd_notify(3)).

Datagrams of `NAME=value` lines to the socket that ``NOTIFY_SOCKET`` names. Nothing comes back, and one that does not
get there stops nothing: what matters is said again with the next.

The keep-alive (``WATCHDOG_USEC``) is sent by a task of the event loop, once a turn that comes when it is due. A loop
that hangs sends none, and the manager ends the process and starts another.
"""

import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Final

import trio

from trimq.process.probes import Probe

log = logging.getLogger("trimq.server")

# By this signal a watchdog ends what hangs: the unit says so (WatchdogSignal=), and so does the supervisor of several
# brokers. The default one, SIGABRT, would need the handler of SIGBUS, which the store has.
WATCHDOG_SIGNAL: Final = signal.SIGQUIT
# Of the time after which silence means death: one lost datagram and one slow turn are no reason to end a broker.
_SHARE: Final = 3
# How often a manager that has no watchdog is told something.
_USUAL_SECONDS: Final = 10.0


class ServiceManager:
    """`address` is empty where there is none; then nothing is sent."""

    __slots__ = (
        "_address",
        "_is_lost",
        "_lines",
        "_pause",
        "_probe",
        "_serving",
        "watchdog_seconds",
    )

    def __init__(self, address: str = "", watchdog_seconds: float = 0.0) -> None:
        self._address = address
        self.watchdog_seconds = watchdog_seconds
        self._pause = pause_of(watchdog_seconds) or _USUAL_SECONDS
        # A start may take as long as it takes, while the loop turns.
        self._lines = [f"EXTEND_TIMEOUT_USEC={int(self._pause * _SHARE * 1e6)}"]
        self._serving = ""
        self._probe: Probe | None = None
        self._is_lost = False

    @classmethod
    def of_environment(cls, environ: MutableMapping[str, str]) -> "ServiceManager":
        """The variables are taken out: it expects nothing of processes that this one starts."""
        return cls(environ.pop("NOTIFY_SOCKET", ""), watchdog_seconds(environ))

    @property
    def is_there(self) -> bool:
        return bool(self._address)

    def serves(self, line: str, probe: Probe | None = None) -> None:
        """Ready, as the ready line says. `probe`: whether it still is, and why not."""
        self._probe = probe
        self._serving = f"STATUS={line}"
        self._lines = ["READY=1", self._serving]
        self.tell(*self._lines)

    def stops(self) -> None:
        self._probe = None
        self._lines = ["STOPPING=1", "STATUS=stopping"]
        self.tell(*self._lines)

    async def keep_told(self) -> None:
        """Until cancelled."""
        while True:
            await self._look()
            self.tell(*self._lines, *(["WATCHDOG=1"] if self.watchdog_seconds else ()))
            await trio.sleep(self._pause)

    async def _look(self) -> None:
        """What the status line says now."""
        if self._probe is None:
            return
        try:
            verdict = await self._probe()
        except Exception:
            # A bug, and no reason to end, or to have no keep-alive.
            log.exception("whether this server is ready cannot be told")
            return
        # It may have begun to stop meanwhile.
        if self._probe is not None:
            why = "; ".join(verdict.why)
            self._lines[-1] = self._serving if verdict.ok else f"STATUS=not ready: {why}"

    def tell(self, *lines: str) -> None:
        """Never blocks, never raises."""
        if not self._address:
            return
        text = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)
                sock.sendto(text.encode(errors="replace"), _path(self._address))
        except (OSError, ValueError) as error:
            if not self._is_lost:
                log.warning(
                    "the service manager cannot be told how this server is, trying again: address=%s reason=%s",
                    self._address,
                    error,
                )
            self._is_lost = True
        else:
            self._is_lost = False


def watchdog_seconds(environ: MutableMapping[str, str]) -> float:
    """How long this process may be silent; 0: as long as it likes. The variables are taken out.

    Where there is a watchdog, its signal shows what all threads were doing, and ends the process.
    """
    text = environ.pop("WATCHDOG_USEC", "")
    owner = environ.pop("WATCHDOG_PID", "")
    if not text.isdecimal() or int(text) == 0 or (owner and owner != str(os.getpid())):
        return 0.0
    if threading.current_thread() is threading.main_thread():
        # A shell's background processes ignore it, and so do those that they start.
        signal.signal(WATCHDOG_SIGNAL, signal.SIG_DFL)
    faulthandler.register(WATCHDOG_SIGNAL, sys.__stderr__ or 2, all_threads=True, chain=True)
    return int(text) / 1e6


def pause_of(watchdog_seconds: float) -> float:
    """Seconds between two signs of life; 0: none are wanted."""
    return watchdog_seconds / _SHARE


def _path(address: str) -> bytes:
    """`@name` is a socket that no file stands for."""
    path = os.fsencode(address)
    if path[:1] not in (b"/", b"@"):
        raise ValueError("no Unix socket")
    return b"\0" + path[1:] if path[:1] == b"@" else path


@asynccontextmanager
async def told_manager() -> AsyncIterator[ServiceManager]:
    """The manager of this process, told until the block ends."""
    manager = ServiceManager.of_environment(os.environ)
    if not manager.is_there:
        yield manager
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(manager.keep_told)
        yield manager
        nursery.cancel_scope.cancel()
