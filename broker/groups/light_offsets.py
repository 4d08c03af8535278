"""Offsets of groups that are named as light queues are (LmqConsumerOffsetManager): one for each topic.

They are in `lmqConsumerOffset.json` beside the offsets of all other groups. Whoever asks for the topics of a
group, or the groups of a topic, is not told of them, as there, and they do not move the table's version.
"""

from __future__ import annotations

from trimq.broker.tables.json_members import JsonMembers

_SEPARATOR = "@"


class LightOffsets:
    """`topic@group` -> offset."""

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self.members = JsonMembers(lambda key: str(self.offsets[key]))

    def commit(self, key: str, offset: int) -> int | None:
        """Set an offset; returns the previous one."""
        old = self.offsets.get(key)
        if old != offset:
            self.offsets[key] = offset
            self.members.changed(key)
        return old

    def forget_topic(self, topic: str) -> int:
        """Of a deleted topic; how many those were."""
        return self._forget([key for key in self.offsets if key.partition(_SEPARATOR)[0] == topic])

    def forget_group(self, group: str) -> int:
        """Of a deleted group (removeOffset); how many those were."""
        return self._forget([key for key in self.offsets if key.split(_SEPARATOR)[1:] == [group]])

    def _forget(self, keys: list[str]) -> int:
        for key in keys:
            del self.offsets[key]
            self.members.removed(key)
        return len(keys)
