"""How many messages a second each logical partition of an elastic topic gets.

Puts only count; now and then the counts are kept with their time, and a rate is what came since.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import trio

from trimq.base.clock import Clock

LOOK_SECONDS: Final = 10.0
# A rate over less than that would be chance.
_LEAST_SECONDS: Final = 1.0


class Counts(Protocol):
    """What of ElasticMaps is needed here."""

    def topics(self) -> Sequence[str]: ...

    def counts(self, topic: str) -> Sequence[int]: ...


class _Look(NamedTuple):
    at: float
    counts: tuple[int, ...]


class PartitionLoads:
    """`run` is a service; rates are those of the last 10 to 20 s."""

    def __init__(self, maps: Counts, clock: Clock) -> None:
        self._maps = maps
        self._clock = clock
        # The last two looks at each topic, the older one first.
        self._looks: dict[str, list[_Look]] = {}

    def rates(self, topic: str) -> list[float]:
        """Messages a second by LP; none as long as it is not known."""
        now, counts = self._clock.current_time(), self._maps.counts(topic)
        for before in self._looks.get(topic, ()):
            seconds = now - before.at
            if seconds >= _LEAST_SECONDS and len(before.counts) == len(counts):
                return [
                    max(count - earlier, 0) / seconds
                    for count, earlier in zip(counts, before.counts, strict=True)
                ]
        return []

    async def run(self) -> None:
        """Look now and then. Ends only by being cancelled."""
        while True:
            now, topics = self._clock.current_time(), self._maps.topics()
            self._looks = {
                topic: [
                    *self._looks.get(topic, [])[-1:],
                    _Look(now, tuple(self._maps.counts(topic))),
                ]
                for topic in topics
            }
            await trio.sleep(LOOK_SECONDS)
