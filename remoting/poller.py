"""Tells connections that their sockets have something to read, without a task switch for each.

A task that waits for its socket costs a round through Trio's scheduler, a chain of coroutines to wake
and a system call to register anew, for every receive. Here all plain sockets of a server stand in one
epoll instance, registered once, and one task calls the connections that are ready, one after the other.
Linux only; elsewhere, and for TLS, each connection has its own reading task.

Hot: compiled by mypyc when a compiler is there.
"""

import os
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

# Whoever sends the next request right after each answer is waited for awake, so long at most. Being put
# to sleep and woken again takes longer than the request itself, on the other side as well.
_LINGER_SECONDS: Final = 0.000_2
# After so many requests of that kind in a row,
_LINGER_AFTER: Final = 8
# or so many, the more often it was in vain.
_LINGER_AFTER_MOST: Final = 4096
# Nobody reads an answer and asks anew faster than this: several callers share the socket.
_TOO_SOON_SECONDS: Final = 0.000_005


class Poller:
    """Calls back, from the one task that `run`s, while a file descriptor is readable."""

    __slots__ = (
        "_answered_at",
        "_callbacks",
        "_epoll",
        "_in_a_row",
        "_last",
        "_linger_after",
        "_paused",
        "_ready",
    )

    def __init__(self) -> None:
        self._epoll: Any = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._paused: dict[int, Callable[[], None]] = {}
        # Descriptors that were ready and have not been called yet.
        self._ready: deque[int] = deque()
        # Receives in a row from the `_last` socket by itself, each soon after the answer to the one before.
        self._in_a_row: int = 0
        self._last: int = -1
        self._answered_at: float = 0.0
        self._linger_after: int = _LINGER_AFTER

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
        now = perf_counter()
        until = now + _MOST_SECONDS
        ready = self._ready
        for _ in range(_MOST_LOOKS):
            if not ready:
                for fd, _ in self._epoll.poll(0):
                    ready.append(fd)
            count = len(ready)
            if count == 1:
                self._note(ready[0], now)
            else:
                self._in_a_row = 0
            while ready:
                callback = self._callbacks.get(ready.popleft())
                if callback is not None:
                    callback()
                    now = perf_counter()
                    self._answered_at = now
                    if now > until:
                        return
            if count <= 1:
                # Who is alone and waits for each answer has nothing more to say yet.
                if not self._linger(now):
                    return
                now = perf_counter()

    def _note(self, fd: int, now: float) -> None:
        """This socket is ready, and no other."""
        if fd == self._last and _TOO_SOON_SECONDS < now - self._answered_at < 2 * _LINGER_SECONDS:
            self._in_a_row += 1
        else:
            self._in_a_row = 0
            self._last = fd

    def _linger(self, now: float) -> bool:
        """Wait awake for the next request of who is alone; whether it came.

        Not while other tasks want to run. Whoever else wants this core gets it at every look: the
        caller itself may have been woken on it.
        """
        if self._in_a_row < self._linger_after:
            return False
        others = trio.lowlevel.current_statistics()
        if others.tasks_runnable > 0 or others.run_sync_soon_queue_size > 0:
            return False
        until = now + _LINGER_SECONDS
        while True:
            os.sched_yield()
            for fd, _ in self._epoll.poll(0):
                self._ready.append(fd)
            if self._ready:
                self._linger_after = _LINGER_AFTER
                return True
            if perf_counter() > until:
                break
        self._in_a_row = 0
        self._linger_after = min(self._linger_after * 2, _LINGER_AFTER_MOST)
        return False
