"""Where clients come in: listening sockets, which can be shut for a while as if nothing listened there."""

import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import trio

log = logging.getLogger("trimq.remoting")

Accept = Callable[[socket.socket, trio.Nursery], Awaitable[None]]
Until = Callable[[], Awaitable[object]]

# As many as for a server's start (trimq/settings/listening.py).
_BACKLOG: Final = 1024
_RETRY_SECONDS: Final = 0.1


class Entrance:
    """`run` accepts. It is shut and opened again while it runs."""

    def __init__(self) -> None:
        self._sockets: Sequence[socket.socket] = ()
        self._addresses: list[Any] = []
        self._open = trio.CancelScope()
        self._shut: trio.CancelScope | None = None
        self._until: Until = trio.sleep_forever
        self._is_open = trio.Event()

    @property
    def is_shut(self) -> bool:
        return self._shut is not None

    async def run(self, sockets: Sequence[socket.socket], accept: Accept) -> None:
        """`accept` of each socket, in a nursery for those who have just come, until cancelled."""
        self._sockets = sockets
        while True:
            with self._open:
                async with trio.open_nursery() as newcomers:
                    for sock in sockets:
                        newcomers.start_soon(accept, sock, newcomers)
            if self._shut is None:
                return
            await self._wait()
            await self._listen_again()
            self._open, self._shut = trio.CancelScope(), None
            self._is_open.set()

    async def _wait(self) -> None:
        while True:
            shut = self._shut
            assert shut is not None
            with shut:
                await self._until()
            if self._shut is shut:
                return

    def shut(self, until: Until) -> None:
        """Again: until that instead."""
        self._until = until
        if self._shut is not None:
            self._shut.cancel()
            self._shut = trio.CancelScope()
            return
        self._shut, self._is_open = trio.CancelScope(), trio.Event()
        self._open.cancel()
        self._addresses = [sock.getsockname() for sock in self._sockets]
        for sock, address in zip(self._sockets, self._addresses, strict=True):
            sock.shutdown(socket.SHUT_RDWR)
            # So nobody else gets the port. Where the system has chosen it, it was given back.
            with suppress(OSError):
                _bind(sock, address)

    async def reopen(self) -> None:
        """Returns when clients can connect."""
        if self._shut is not None:
            self._shut.cancel()
            await self._is_open.wait()

    async def _listen_again(self) -> None:
        for sock, address in zip(self._sockets, self._addresses, strict=True):
            while True:
                try:
                    _bind(sock, address)
                    sock.listen(_BACKLOG)
                    break
                except OSError as error:
                    log.error("cannot listen again, trying again: reason=%s", error)
                    await trio.sleep(_RETRY_SECONDS)


def _bind(sock: socket.socket, address: Any) -> None:
    """Unless it is bound already."""
    try:
        sock.bind(address)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
