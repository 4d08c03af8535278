"""Pulls that found nothing, held until a message they want lands.

A held pull stands with its queue, so a landing message touches the pulls of that queue and nothing
else; there is no scanner. What wakes a pull is what wakes one in PullRequestHoldService:

- a message at or behind its offset whose tag hash it asked for: at once;
- a message at or behind its offset with another tag: at most five seconds later, so that the client
  learns how far its queue has moved (the 5 s rescan there, which passes no tag and so matches);
- its time is up.

The caller then reads once more and answers whatever it finds.
"""

import trio

from trimq.store.message import Dispatched
from trimq.store.reading import matches

RECHECK_SECONDS = 5.0
HELD_LIMIT = 100_000


class TooManyHeld(Exception):
    """The bound on held pulls is reached: this one has to be answered now."""


class _Held:
    """One pull that waits: from where it reads, which tag hashes it wants, how to wake it."""

    __slots__ = ("codes", "offset", "passed", "scope", "woken")

    def __init__(self, offset: int, codes: frozenset[int] | None, scope: trio.CancelScope) -> None:
        self.offset = offset
        self.codes = codes
        self.scope = scope
        self.passed = False
        self.woken = trio.Event()


class Arrivals:
    """Which pulls wait for which queue. A listener of the store."""

    def __init__(self, limit: int = HELD_LIMIT) -> None:
        self._limit = limit
        self._topics: dict[str, dict[int, set[_Held]]] = {}
        self.held = 0

    async def wait(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        codes: frozenset[int] | None,
        seconds: float,
    ) -> None:
        """Return when it is worth reading the queue at `offset` again, or after `seconds`.

        The caller must not have awaited anything since it read, or it misses what landed meanwhile.
        """
        if self._limit and self.held >= self._limit:
            raise TooManyHeld(f"{self.held} pulls are held already")
        with trio.move_on_after(seconds) as scope:
            held = _Held(offset, codes, scope)
            self._hold(topic, queue_id, held)
            try:
                await held.woken.wait()
            finally:
                self._release(topic, queue_id, held)

    def arrived(self, messages: list[Dispatched]) -> None:
        """The store's listener: wake who waits for one of these messages."""
        if self._topics:
            for message in messages:
                self._look(message)

    def _look(self, message: Dispatched) -> None:
        queues = self._topics.get(message.topic)
        if queues is None:
            return
        for held in queues.get(message.queue_id, ()):
            if message.queue_offset < held.offset:
                continue
            if held.codes is None or matches(message.tags_code, held.codes):
                held.woken.set()
            elif not held.passed:
                held.passed = True
                recheck = trio.current_time() + RECHECK_SECONDS
                held.scope.deadline = min(held.scope.deadline, recheck)

    def held_for(self, topic: str, queue_id: int) -> int:
        """How many pulls wait for this queue."""
        return len(self._topics.get(topic, {}).get(queue_id, ()))

    def _hold(self, topic: str, queue_id: int, held: _Held) -> None:
        self._topics.setdefault(topic, {}).setdefault(queue_id, set()).add(held)
        self.held += 1

    def _release(self, topic: str, queue_id: int, held: _Held) -> None:
        self.held -= 1
        queues = self._topics[topic]
        queues[queue_id].discard(held)
        if not queues[queue_id]:
            del queues[queue_id]
            if not queues:
                del self._topics[topic]
