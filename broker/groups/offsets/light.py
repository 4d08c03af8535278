"""Offsets of groups that are named as light queues are (LmqConsumerOffsetManager): one for each topic.

They are in `lmqConsumerOffset.json` beside the offsets of all other groups. Whoever asks for the topics of a
group, or the groups of a topic, is not told of them, as there, and they do not move the table's version.
"""

from __future__ import annotations

from trimq.broker.steps import Steps
from trimq.broker.tables.json_members import JsonMembers
from trimq.broker.tables.pairs import Pairs


class LightOffsets:
    """`topic@group` -> offset."""

    def __init__(self) -> None:
        self.offsets: dict[str, int] = {}
        self._pairs = Pairs()
        self.members = JsonMembers(lambda key: str(self.offsets[key]))

    def commit(self, key: str, offset: int) -> int | None:
        """Set an offset; returns the previous one."""
        old = self.offsets.get(key)
        if old is None:
            self._pairs.add(key)
        if old != offset:
            self.offsets[key] = offset
            self.members.changed(key)
        return old

    def forget_topic(self, topic: str) -> Steps[int]:
        """Of a deleted topic; how many those were."""
        return (yield from self._forget(self._pairs.of_topic(topic)))

    def forget_group(self, group: str) -> Steps[int]:
        """Of a deleted group (removeOffset); how many those were."""
        return (yield from self._forget(self._pairs.of_group(group)))

    def _forget(self, keys: list[str]) -> Steps[int]:
        for key in keys:
            self._pairs.remove(key)
            if self.offsets.pop(key, None) is not None:
                self.members.removed(key)
            yield
        return len(keys)
