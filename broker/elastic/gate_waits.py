"""Pulls that wait at a closed start, and how soon those are answered whose next commit a gate waits for.

They wait apart from the arrivals: each message behind the start would wake them there.
"""

import trio

from trimq.base.staggered_wakeups import StaggeredWakeups

FIRST_PAUSE_SECONDS = 0.05
LAST_PAUSE_SECONDS = 1.0
WAITING_LIMIT = 100_000

Where = tuple[str, str]
"""Group and topic."""


class Gates:
    def __init__(self, limit: int = WAITING_LIMIT) -> None:
        """`limit`: how many pulls may wait; 0: any number."""
        self._limit = limit
        self._waiting: dict[Where, set[trio.Event]] = {}
        # By queue: how long its last pull was held.
        self._pauses: dict[Where, dict[int, float]] = {}
        self._expired = StaggeredWakeups()
        self.waiting = 0
        self.openings = 0
        """How often a gate has opened: a look is out of date when this has grown since."""

    async def wait(self, group: str, topic: str, seconds: float) -> bool:
        """Until a gate of the group has opened, or `seconds` have passed; False, at once: too many wait."""
        if self._limit and self.waiting >= self._limit:
            return False
        opened = trio.Event()
        where = (group, topic)
        self._waiting.setdefault(where, set()).add(opened)
        self.waiting += 1
        try:
            with trio.move_on_after(seconds) as scope:
                await opened.wait()
            if scope.cancelled_caught:
                await self._expired.turn()
        finally:
            self.waiting -= 1
            events = self._waiting[where]
            events.discard(opened)
            if not events:
                del self._waiting[where]
        return True

    def opened(self, group: str, topic: str) -> None:
        """All of the group's pulls look again; its queues are asked at short intervals again."""
        self.openings += 1
        self._pauses.pop((group, topic), None)
        for opened in self._waiting.get((group, topic), ()):
            opened.set()

    def pause(self, group: str, topic: str, queue: int) -> float:
        """Seconds to hold a pull whose next commit a gate waits for: twice as long each time."""
        pauses = self._pauses.setdefault((group, topic), {})
        before = pauses.get(queue)
        pause = FIRST_PAUSE_SECONDS if before is None else min(before * 2, LAST_PAUSE_SECONDS)
        pauses[queue] = pause
        return pause
