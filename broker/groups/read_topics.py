"""Which topics a group has offsets in, and the text of that in the file (ConsumerOffsetManager's `groupTopicMap`).

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.tables.json_members import JsonMembers, pretty_array, quoted

SEPARATOR = "@"


class ReadTopics:
    """Group -> topics, in the order in which they came; by the keys of offsets, `topic@group`."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, None]] = {}
        self.members = JsonMembers(self._encode)

    def of_group(self, group: str) -> set[str]:
        return set(self._topics.get(group, ()))

    def groups_of(self, topic: str) -> set[str]:
        return {group for group, topics in self._topics.items() if topic in topics}

    def add(self, key: str) -> None:
        topic, separator, group = key.partition(SEPARATOR)
        # A key with more than one separator does not belong to any group that the real broker would
        # list.
        if separator and SEPARATOR not in group:
            self._topics.setdefault(group, {})[topic] = None
            self.members.changed(group)

    def remove(self, key: str) -> None:
        topic, _, group = key.partition(SEPARATOR)
        topics = self._topics.get(group)
        if topics is not None and topics.pop(topic, 0) is None:
            if topics:
                self.members.changed(group)
            else:
                del self._topics[group]
                self.members.removed(group)

    def _encode(self, group: str) -> str:
        return pretty_array([quoted(topic) for topic in self._topics[group]], 2)


def group_of(key: str) -> str | None:
    """None: the key names no group."""
    parts = key.split(SEPARATOR)
    return parts[1] if len(parts) == 2 else None
