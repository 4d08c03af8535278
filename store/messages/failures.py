"""Of all that is told of a write, what has failed: it is logged, and nobody else goes without because of it.

An effect that fails leaves the broker without what its record decides: `take_topics` tells whose records those are, so
that their owner makes anew what it knows, from the log. A listener has missed one write, and hears of the next one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from trimq.store.messages.message import Dispatched

log = logging.getLogger("trimq.store")

# Whoever fails at each write is logged when it has failed once, twice, four times ...
_NAMES: Final = 100


class Failures:
    """`count`: since the start."""

    __slots__ = ("_counts", "_topics", "count")

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._topics: set[str] = set()
        self.count = 0

    def of_effect(self, record: Dispatched, error: Exception) -> None:
        """What the record decides is not known now."""
        self._topics.add(record.topic)
        times = self._times(f"effect of {record.topic}")
        if times:
            log.error(
                "effect of a stored record failed: topic=%s queue=%d offset=%d at=%d times=%d",
                record.topic,
                record.queue_id,
                record.queue_offset,
                record.physical_offset,
                times,
                exc_info=error,
            )

    def of_listener(self, listener: Callable[..., Any], what: str, error: Exception) -> None:
        """It has missed something; `what` that was."""
        name = getattr(listener, "__qualname__", type(listener).__qualname__)
        times = self._times(name)
        if times:
            log.error(
                "listener of the store failed: listener=%s event=%s times=%d",
                name,
                what,
                times,
                exc_info=error,
            )

    def take_topics(self) -> set[str]:
        """Topics of which an effect has failed since this was called last."""
        topics, self._topics = self._topics, set()
        return topics

    def _times(self, name: str) -> int:
        """0: log nothing now; otherwise how often it has failed."""
        self.count += 1
        if name not in self._counts and len(self._counts) >= _NAMES:
            return 0
        self._counts[name] += 1
        times = self._counts[name]
        return times if times & (times - 1) == 0 else 0
