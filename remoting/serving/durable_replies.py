"""Replies that may not leave before their record is durable (SYNC_FLUSH, SYNC_MASTER).

The read loop goes on while they wait; replies match by opaque, so one may overtake another.

Hot: compiled by mypyc when a compiler is there.
"""

from collections import deque
from collections.abc import Callable

import trio

from trimq.remoting.gate import Gate
from trimq.remoting.serving.turn import Reply
from trimq.remoting.wire.outbox import Outbox

# What a parked reply counts towards the outbox's bound; its exact size is known only when it is
# sent.
_WEIGHT = 512


class ParkedReplies:
    """The parked replies of one connection, oldest first."""

    __slots__ = ("_gate", "_nursery", "_outbox", "_replies", "_seconds", "_send", "_timing")

    def __init__(
        self, gate: Gate, seconds: float, outbox: Outbox, send: Callable[[list[Reply]], None]
    ) -> None:
        self._gate = gate
        self._seconds = seconds
        self._outbox = outbox
        self._send = send
        self._nursery: trio.Nursery | None = None
        self._replies: deque[tuple[float, Reply]] = deque()
        self._timing = False

    def open(self, nursery: trio.Nursery) -> None:
        """Watch the time-outs in a task of this nursery."""
        self._nursery = nursery

    def close(self) -> None:
        """Forget what is parked."""
        self._gate.unwatch(self._let_go)
        self._replies.clear()

    def park(self, replies: list[Reply]) -> list[Reply]:
        """Keep the replies that are not durable yet; give back the others."""
        durable = self._gate.offset
        ready = [reply for reply in replies if reply.response.durable_at <= durable]
        if len(ready) == len(replies) or self._nursery is None:
            return replies
        deadline = trio.current_time() + self._seconds
        wanted = 0
        for reply in replies:
            offset = reply.response.durable_at
            if offset > durable:
                wanted = max(wanted, offset)
                self._replies.append((deadline, reply))
                self._outbox.reserve(_WEIGHT)
        self._gate.watch(wanted, self._let_go)
        if not self._timing:
            self._timing = True
            self._nursery.start_soon(self._time_out)
        return ready

    async def _time_out(self) -> None:
        while self._replies:
            await trio.sleep_until(self._replies[0][0])
            self._let_go()
        self._timing = False

    def _let_go(self) -> None:
        """Send the replies that are durable by now, and those that have waited too long."""
        now = trio.current_time()
        durable = self._gate.offset
        waiting: deque[tuple[float, Reply]] = deque()
        ready: list[Reply] = []
        for deadline, reply in self._replies:
            response = reply.response
            if response.durable_at <= durable:
                ready.append(reply)
            elif deadline <= now:
                # The record is stored all the same, so the header with its offset stays.
                response.code = response.durable_timeout_code
                ready.append(reply)
            else:
                waiting.append((deadline, reply))
        self._replies = waiting
        if not waiting:
            self._gate.unwatch(self._let_go)
        if ready:
            self._send(ready)
            self._outbox.release(_WEIGHT * len(ready))
