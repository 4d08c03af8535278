"""Complaints that a peer can cause at will: each is logged once a minute, with a count."""

import time
from collections.abc import Hashable
from typing import Final

_PAUSE_SECONDS: Final = 60.0
# Peers can make up keys: this many are distinguished.
_MOST: Final = 100


class LogThrottle:
    """When to log something again."""

    __slots__ = ("_missed", "_said_at")

    def __init__(self) -> None:
        self._said_at: dict[Hashable, float] = {}
        self._missed: dict[Hashable, int] = {}

    def times(self, key: Hashable) -> int:
        """0: log nothing now. Otherwise how often it came since it was last logged."""
        if key not in self._said_at and len(self._said_at) >= _MOST:
            return 0
        now = time.monotonic()
        if now < self._said_at.get(key, -_PAUSE_SECONDS) + _PAUSE_SECONDS:
            self._missed[key] = self._missed.get(key, 0) + 1
            return 0
        self._said_at[key] = now
        return self._missed.pop(key, 0) + 1
