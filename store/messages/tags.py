"""The tagsCode of a consume-queue entry (CommitLog.checkMessageAndReturnSize).

Normally the Java hash of the TAGS property; on SCHEDULE_TOPIC_XXXX the time of delivery, so that
the delay service need not read the record.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec import native
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import SCHEDULE_TOPIC
from trimq.codec.records.properties import find_property

TAGS: Final = b"TAGS"
DELAY: Final = b"DELAY"
UNKNOWN_LEVEL_DELAY: Final = 1000
# Digits: an int in Java.
_LONGEST_LEVEL: Final = 10
_LATEST: Final = 2**63 - 1


class TagCodes:
    """`delay_levels` are milliseconds, level 1 first."""

    __slots__ = ("_delay_levels",)

    def __init__(self, delay_levels: tuple[int, ...]) -> None:
        self._delay_levels = delay_levels

    def code(
        self, topic: str, properties: bytes, store_timestamp: int, tag_hash: int | None = None
    ) -> int:
        """`tag_hash`: that of the tag among the properties, if it is already known."""
        if topic == SCHEDULE_TOPIC:
            level = self._delay_level(properties)
            if level > 0:
                return self._deliver_time(level, store_timestamp)
        if tag_hash is not None:
            return tag_hash
        found = native.tag_hash(properties)
        if found is not None:
            return found
        tags = find_property(properties, TAGS) or b""
        return string_hash(tags.decode("utf-8", "replace"))

    def _delay_level(self, properties: bytes) -> int:
        value = find_property(properties, DELAY)
        if value is None or not value.isdigit() or len(value) > _LONGEST_LEVEL:
            return 0
        return int(value)

    def _deliver_time(self, level: int, store_timestamp: int) -> int:
        """DefaultMessageStore.computeDeliverTimestamp: levels above the highest are that one."""
        if not self._delay_levels:
            delay = UNKNOWN_LEVEL_DELAY
        else:
            delay = self._delay_levels[min(level, len(self._delay_levels)) - 1]
        return min(store_timestamp + delay, _LATEST)
