"""Tells connections that their sockets have something to read, without a task switch for each.

A task that waits for its socket costs a round through Trio's scheduler, a chain of coroutines to
wake and a system call to register again, for every receive. Here all plain sockets of a server
share one epoll instance, registered once, and one task calls the connections that are ready, one
after another. Linux only; elsewhere, and for TLS, each connection has its own reading task.

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

# After this many seconds, or polls, the other tasks get their turn.
_MOST_SECONDS: Final = 0.002
_MOST_LOOKS: Final = 16

# For a client that sends its next request right after each answer, the poller stays awake, at most
# this long: going to sleep and being woken takes longer than the request itself, on the client's
# side as well.
_LINGER_SECONDS: Final = 0.000_2
# How many such requests in a row it takes before the poller stays awake.
_LINGER_AFTER: Final = 8
# That number doubles each time the wait was in vain, up to this.
_LINGER_AFTER_MOST: Final = 4096
# After so many receives in a row from one socket it is the only busy one.
_ALONE_AFTER: Final = 8
# No caller reads an answer and asks again faster than this: several callers share the socket.
_TOO_SOON_SECONDS: Final = 0.000_005


def _nothing() -> None:
    return None


class Poller:
    """Calls back, from the one task that runs `run`, while a file descriptor is readable; then `after`, once for all
    that were ready together. `after` must not raise.
    """

    __slots__ = (
        "_after",
        "_alone",
        "_answered_at",
        "_answering",
        "_callbacks",
        "_epoll",
        "_in_a_row",
        "_last",
        "_linger_after",
        "_paused",
        "_ready",
    )

    def __init__(self, after: Callable[[], None] = _nothing) -> None:
        self._after = after
        self._epoll: Any = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._paused: dict[int, Callable[[], None]] = {}
        # Descriptors from which answers come, and no requests.
        self._answering: set[int] = set()
        # Descriptors that were ready and have not been called yet.
        self._ready: deque[int] = deque()
        # Receives in a row from the `_last` socket alone, each soon after the answer to the
        # previous one.
        self._in_a_row: int = 0
        # Receives in a row from the `_last` socket alone, however soon.
        self._alone: int = 0
        self._last: int = -1
        self._answered_at: float = 0.0
        self._linger_after: int = _LINGER_AFTER

    def add(self, fd: int, callback: Callable[[], None], answers: bool = False) -> None:
        """Call back whenever `fd` is readable. The callback must not raise.

        `answers`: what comes there answers us. A client is still the only busy one, whether it waits for that or not.
        """
        # Nothing is kept of one that cannot be watched.
        self._epoll.register(fd, select.EPOLLIN)
        self._callbacks[fd] = callback
        if answers:
            self._answering.add(fd)

    def pause(self, fd: int) -> None:
        """No calls until `resume`."""
        callback = self._callbacks.pop(fd, None)
        if callback is not None:
            # An empty mask would still report a peer that has gone, over and over.
            self._epoll.unregister(fd)
            self._paused[fd] = callback

    def resume(self, fd: int) -> None:
        callback = self._paused.pop(fd, None)
        if callback is not None:
            self.add(fd, callback)

    def remove(self, fd: int) -> None:
        """Stop the calls; call it before the descriptor is closed."""
        self._paused.pop(fd, None)
        self._answering.discard(fd)
        if self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def close(self) -> None:
        """Call nobody any more."""
        self._callbacks.clear()
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
        """Serve the sockets that are ready, in turn, and poll again as long as any is."""
        now = perf_counter()
        until = now + _MOST_SECONDS
        ready = self._ready
        for _ in range(_MOST_LOOKS):
            if not ready:
                for fd, _ in self._epoll.poll(0):
                    ready.append(fd)
            count = len(ready)
            self._watch(now)
            if count:
                now = self._call(now, until)
                if now > until:
                    return
            # A lone client that waits for each answer has nothing more to send yet. Of several,
            # another one may have: to ask costs less than a round through Trio's scheduler.
            if count == 0 or (count == 1 and self._alone >= _ALONE_AFTER):
                if not self._linger(now):
                    return
                now = perf_counter()

    def _call(self, now: float, until: float) -> float:
        """Those that are ready, as long as there is time; when they were answered."""
        ready, asked = self._ready, False
        while ready:
            fd = ready.popleft()
            callback = self._callbacks.get(fd)
            if callback is not None:
                callback()
                asked = asked or fd not in self._answering
                now = perf_counter()
                if now > until:
                    break
        self._after()
        now = perf_counter()
        if asked:
            self._answered_at = now
        return now

    def _watch(self, now: float) -> None:
        """Whether one client is busy, or several."""
        asking = [fd for fd in self._ready if fd not in self._answering]
        if len(asking) == 1:
            self._note(asking[0], now)
        elif asking:
            self._in_a_row = 0
            self._alone = 0

    def _note(self, fd: int, now: float) -> None:
        """Only this socket is ready."""
        self._alone = self._alone + 1 if fd == self._last else 0
        if fd == self._last and _TOO_SOON_SECONDS < now - self._answered_at < 2 * _LINGER_SECONDS:
            self._in_a_row += 1
        else:
            self._in_a_row = 0
            self._last = fd

    def _linger(self, now: float) -> bool:
        """Stay awake for the lone client's next request, or for what its answer waits for; returns whether it came.

        Not while other tasks want to run. Every poll yields the core to whoever else wants it: the
        client itself may have been woken on it.
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
