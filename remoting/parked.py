"""Replies that may not leave before their record is durable (SYNC_FLUSH, SYNC_MASTER).

The read loop goes on while they wait; replies match by opaque, so one may overtake another.
"""

from collections import deque
from collections.abc import Callable

import trio

from remoting.gate import Gate
from remoting.outbox import Outbox
from remoting.turn import Reply

# What a parked reply counts in the outbox's bound; its exact size shows only when it leaves.
_WEIGHT = 512


class ParkedReplies:
    """The parked replies of one connection, oldest first; one task while there are any."""

    __slots__ = ("_gate", "_nursery", "_outbox", "_replies", "_seconds", "_send")

    def __init__(
        self, gate: Gate, seconds: float, outbox: Outbox, send: Callable[[list[Reply]], None]
    ) -> None:
        self._gate = gate
        self._seconds = seconds
        self._outbox = outbox
        self._send = send
        self._nursery: trio.Nursery | None = None
        self._replies: deque[tuple[float, Reply]] = deque()

    def open(self, nursery: trio.Nursery) -> None:
        """Wait for the gate in a task of this nursery whenever there is something to wait for."""
        self._nursery = nursery

    def park(self, replies: list[Reply]) -> list[Reply]:
        """Keep the replies that are not durable yet; give back the others."""
        durable = self._gate.offset
        ready = [reply for reply in replies if reply.response.durable_at <= durable]
        if len(ready) == len(replies) or self._nursery is None:
            return replies
        if not self._replies:
            self._nursery.start_soon(self._wait)
        deadline = trio.current_time() + self._seconds
        for reply in replies:
            if reply.response.durable_at > durable:
                self._replies.append((deadline, reply))
                self._outbox.reserve(_WEIGHT)
        return ready

    async def _wait(self) -> None:
        while self._replies:
            deadline, oldest = self._replies[0]
            await self._gate.wait(oldest.response.durable_at, deadline - trio.current_time())
            self._let_go()

    def _let_go(self) -> None:
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
        if ready:
            self._send(ready)
            self._outbox.release(_WEIGHT * len(ready))
