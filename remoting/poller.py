"""Tells connections that their sockets have something to read, without a task switch for each.

A task that waits for its socket costs a round through Trio's scheduler, a chain of coroutines to wake
and a system call to register anew, for every receive. Here all plain sockets of a server stand in one
epoll instance, registered once, and one task calls the connections that are ready, one after the other.
Linux only; elsewhere, and for TLS, each connection has its own reading task.

Hot: compiled by mypyc when a compiler is there.
"""

import select
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import trio

AVAILABLE: Final = hasattr(select, "epoll")

# After so many seconds, or looks at the sockets, the other tasks get their turn.
_MOST_SECONDS: Final = 0.002
_MOST_LOOKS: Final = 16


class Poller:
    """Calls back, from the one task that `run`s, while a file descriptor is readable."""

    __slots__ = ("_callbacks", "_epoll", "_paused", "_ready")

    def __init__(self) -> None:
        self._epoll: Any = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._paused: dict[int, Callable[[], None]] = {}
        # Descriptors that were ready and have not been called yet.
        self._ready: deque[int] = deque()

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Call back whenever `fd` is readable. The callback must not raise."""
        self._callbacks[fd] = callback
        self._epoll.register(fd, select.EPOLLIN)

    def pause(self, fd: int) -> None:
        """No calls until `resume`."""
        callback = self._callbacks.pop(fd, None)
        if callback is not None:
            # A mask of nothing would still report a peer that has gone, over and over.
            self._epoll.unregister(fd)
            self._paused[fd] = callback

    def resume(self, fd: int) -> None:
        callback = self._paused.pop(fd, None)
        if callback is not None:
            self.add(fd, callback)

    def remove(self, fd: int) -> None:
        """No calls any more; before the descriptor is closed."""
        self._paused.pop(fd, None)
        if self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def close(self) -> None:
        """When no descriptor is left."""
        self._epoll.close()

    async def run(self) -> None:
        """Call until cancelled."""
        while True:
            if self._ready:
                await trio.lowlevel.checkpoint()
            else:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
            self._look()

    def _look(self) -> None:
        """Serve who is ready, in turn, and look again as long as somebody is."""
        until = perf_counter() + _MOST_SECONDS
        ready = self._ready
        for _ in range(_MOST_LOOKS):
            if not ready:
                for fd, _ in self._epoll.poll(0):
                    ready.append(fd)
            count = len(ready)
            while ready:
                callback = self._callbacks.get(ready.popleft())
                if callback is not None:
                    callback()
                    if perf_counter() > until:
                        return
            if count <= 1:
                # Who is alone and waits for each answer has nothing more to say yet.
                return
