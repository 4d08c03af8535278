"""Pulls that wait at a closed start, and how soon those are answered whose next commit a gate waits for.

They wait apart from the arrivals: each message behind the start would wake them there.
"""

from trimq.base.clock import Clock
from trimq.base.waits import Waited, Waiter, Waits

FIRST_PAUSE_SECONDS = 0.05
LAST_PAUSE_SECONDS = 1.0

Where = tuple[str, str]
"""Group and topic."""


class Gates(Waits[Waiter]):
    """Its version says how often a gate has opened."""

    def __init__(self, limit: int = 0, clock: Clock | None = None) -> None:
        super().__init__(limit, clock=clock)
        # By queue: how long its last pull was held.
        self._pauses: dict[Where, dict[int, float]] = {}

    async def wait(self, group: str, topic: str, seconds: float, seen: int = -1) -> bool:
        """Until a gate of the group has opened, or `seconds` have passed; False, at once: too many wait."""
        return await self.hold(Waiter((topic, group, 0)), seconds, seen) is not Waited.FULL

    def opened(self, group: str, topic: str) -> None:
        """All of the group's pulls look again; its queues are asked at short intervals again."""
        self._pauses.pop((group, topic), None)
        self.wake_all(topic, group, 0)

    def pause(self, group: str, topic: str, queue: int) -> float:
        """Seconds to hold a pull whose next commit a gate waits for: twice as long each time."""
        pauses = self._pauses.setdefault((group, topic), {})
        before = pauses.get(queue)
        pause = FIRST_PAUSE_SECONDS if before is None else min(before * 2, LAST_PAUSE_SECONDS)
        pauses[queue] = pause
        return pause
