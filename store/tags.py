"""The tagsCode of a consume-queue entry (CommitLog.checkMessageAndReturnSize).

Normally the Java hash of the TAGS property; on SCHEDULE_TOPIC_XXXX the time of delivery, so that
the delay service need not read the record.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.java import string_hash
from trimq.codec.properties import find_property

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
TAGS: Final = b"TAGS"
_TAGS_ENTRY: Final = b"TAGS\x01"
DELAY: Final = b"DELAY"
# Different tags remembered at most; applications use a handful.
CACHE_SIZE: Final = 4096
UNKNOWN_LEVEL_DELAY: Final = 1000


class TagCodes:
    """`delay_levels` are milliseconds, level 1 first."""

    __slots__ = ("_codes", "_delay_levels")

    def __init__(self, delay_levels: tuple[int, ...]) -> None:
        self._delay_levels = delay_levels
        self._codes: dict[bytes, int] = {}

    def code(self, topic: str, properties: bytes, store_timestamp: int) -> int:
        if topic == SCHEDULE_TOPIC:
            level = self._delay_level(properties)
            if level > 0:
                return self._deliver_time(level, store_timestamp)
        # Most messages have none, and that is seen at a glance.
        tags = find_property(properties, TAGS) if _TAGS_ENTRY in properties else None
        if tags is None:
            return 0
        code = self._codes.get(tags)
        if code is None:
            if len(self._codes) >= CACHE_SIZE:
                self._codes.clear()
            code = self._codes[tags] = string_hash(tags.decode("utf-8", "replace"))
        return code

    def _delay_level(self, properties: bytes) -> int:
        value = find_property(properties, DELAY)
        return int(value) if value is not None and value.isdigit() else 0

    def _deliver_time(self, level: int, store_timestamp: int) -> int:
        """DefaultMessageStore.computeDeliverTimestamp: levels above the highest are that one."""
        if not self._delay_levels:
            return store_timestamp + UNKNOWN_LEVEL_DELAY
        return store_timestamp + self._delay_levels[min(level, len(self._delay_levels)) - 1]
