"""Replies that may not leave before their record is durable (SYNC_FLUSH, SYNC_MASTER).

The read loop goes on while they wait; replies match by opaque, so one may overtake another.

Hot: compiled by mypyc when a compiler is there.
"""

from collections import deque
from collections.abc import Callable

import trio

from trimq.remoting.gate import Awaited
from trimq.remoting.serving.receive_frames import Reply
from trimq.remoting.wire.outbox import Outbox

# What a parked reply counts towards the outbox's bound; its exact size is known only when it is
# sent.
_WEIGHT = 512
_LOOK_SECONDS = 0.1


class ParkedReplies:
    """The parked replies of one connection, oldest first.

    Each waits for all gates side by side: the disk and the slaves. It leaves when each has let it pass or has taken
    too long; then with that gate's code, the last one's if there are several (CommitLog.handleDiskFlushAndHA).
    When a gate's term ends, all of them leave with the last gate's code: nobody knows what has become of their records.
    """

    __slots__ = ("_gates", "_nursery", "_outbox", "_parked_in", "_replies", "_send", "_timing")

    def __init__(
        self, gates: tuple[Awaited, ...], outbox: Outbox, send: Callable[[list[Reply]], None]
    ) -> None:
        self._gates = gates
        self._outbox = outbox
        self._send = send
        self._nursery: trio.Nursery | None = None
        # With the time at which each was parked.
        self._replies: deque[tuple[float, Reply]] = deque()
        self._timing = False
        # The term of all that are parked.
        self._parked_in = 0

    @property
    def term(self) -> int:
        """Another one as soon as any gate has."""
        return sum([awaited.gate.term for awaited in self._gates])

    def open(self, nursery: trio.Nursery) -> None:
        """Watch the time-outs in a task of this nursery."""
        self._nursery = nursery

    def close(self) -> None:
        """Forget what is parked."""
        self._unwatch()
        self._count(-len(self._replies))
        self._replies.clear()

    def park(self, replies: list[Reply], term: int) -> list[Reply]:
        """Keep the replies that are not durable yet; give back the others. `term`: when their records were written."""
        if term != self.term:
            for reply in replies:
                if reply.response.durable_at >= 0:
                    self._give_up(reply, self._gates[-1].code)
            return replies
        durable = self._durable()
        ready = [reply for reply in replies if reply.response.durable_at <= durable]
        if len(ready) == len(replies) or self._nursery is None:
            return replies
        now = trio.current_time()
        self._parked_in = term
        wanted = 0
        for reply in replies:
            offset = reply.response.durable_at
            if offset > durable:
                wanted = max(wanted, offset)
                self._replies.append((now, reply))
                self._outbox.reserve(_WEIGHT)
        self._count(len(replies) - len(ready))
        for awaited in self._gates:
            awaited.gate.watch(wanted, self._let_go)
        if not self._timing:
            self._timing = True
            self._nursery.start_soon(self._time_out)
        return ready

    def _durable(self) -> int:
        """Up to where all gates let replies pass."""
        return min([awaited.gate.offset for awaited in self._gates])

    def _count(self, change: int) -> None:
        for awaited in self._gates:
            awaited.gate.parked += change

    def _unwatch(self) -> None:
        for awaited in self._gates:
            awaited.gate.unwatch(self._let_go)

    async def _time_out(self) -> None:
        while self._replies:
            await trio.sleep_until(self._next_deadline())
            self._let_go()
        self._timing = False

    def _next_deadline(self) -> float:
        """When a gate has taken too long for one of them."""
        now = trio.current_time()
        oldest = self._replies[0][0]
        seconds = [awaited.seconds for awaited in self._gates]
        first, last = oldest + min(seconds), oldest + max(seconds)
        # Once the oldest waits for its last gate alone, younger ones may have all their deadlines before that.
        return first if now < first else min(last, now + _LOOK_SECONDS)

    def _let_go(self) -> None:
        """Send the replies that are durable by now, and those that have waited too long or for a term that is over."""
        now = trio.current_time()
        is_over = self._parked_in != self.term
        durable = self._durable()
        waiting: deque[tuple[float, Reply]] = deque()
        ready: list[Reply] = []
        for parked_at, reply in self._replies:
            if is_over:
                self._give_up(reply, self._gates[-1].code)
                ready.append(reply)
            elif reply.response.durable_at <= durable or self._is_late(parked_at, reply, now):
                ready.append(reply)
            else:
                waiting.append((parked_at, reply))
        self._replies = waiting
        self._count(-len(ready))
        if not waiting:
            self._unwatch()
        if ready:
            self._send(ready)
            self._outbox.release(_WEIGHT * len(ready))

    def _is_late(self, parked_at: float, reply: Reply, now: float) -> bool:
        """Whether every gate that has not let it pass has taken too long."""
        response = reply.response
        code = 0
        for awaited in self._gates:
            if response.durable_at > awaited.gate.offset:
                if now < parked_at + awaited.seconds:
                    return False
                code = awaited.code
        self._give_up(reply, code)
        return True

    @staticmethod
    def _give_up(reply: Reply, code: int) -> None:
        """The record is stored all the same, and the header with its offset stays."""
        response = reply.response
        own = response.durable_timeout_code
        response.code = own if own >= 0 else code
