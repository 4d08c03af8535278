"""Which topics a group has offsets in, and the text of that in the file (ConsumerOffsetManager's `groupTopicMap`).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from trimq.broker.tables.json_members import JsonMembers, pretty_array, quoted
from trimq.broker.tables.pairs import SEPARATOR
from trimq.broker.tables.spread_dict import SpreadDict

# A group with more topics, as one that reads lite topics, is encoded some of them at a time.
_MANY: Final = 500
_ITEMS: Final = 64


class _Some:
    """Some topics of a group, and their text while it is theirs."""

    __slots__ = ("text", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, None] = {}
        self.text: bytes | None = None

    def encoded(self) -> bytes:
        if self.text is None:
            self.text = ",".join([f"\n\t\t\t{quoted(topic)}" for topic in self.topics]).encode()
        return self.text


class _Many:
    """The topics of a group that has many."""

    __slots__ = ("_parts", "_places")

    def __init__(self, topics: dict[str, None]) -> None:
        self._places: SpreadDict[str, _Some] = SpreadDict()
        self._parts: dict[_Some, None] = {}
        for topic in topics:
            self.add(topic)

    def add(self, topic: str) -> None:
        if topic in self._places:
            return
        part = next(reversed(self._parts), None)
        if part is None or len(part.topics) >= _ITEMS:
            part = _Some()
            self._parts[part] = None
        part.topics[topic] = None
        part.text = None
        self._places[topic] = part

    def remove(self, topic: str) -> None:
        part = self._places.pop(topic)
        if part is not None:
            del part.topics[topic]
            part.text = None
            if not part.topics:
                del self._parts[part]

    def pieces(self) -> Iterator[bytes]:
        separator = b""
        for part in list(self._parts):
            if part.topics:
                yield separator + part.encoded()
                separator = b","


class ReadTopics:
    """Group -> topics, in the order in which they came; by the keys of offsets, `topic@group`."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, None]] = {}
        self._few = JsonMembers(self._encode)
        self._many: dict[str, _Many] = {}

    def of_group(self, group: str) -> set[str]:
        return set(self._topics.get(group, ()))

    def has(self, group: str, topic: str) -> bool:
        return topic in self._topics.get(group, ())

    def add(self, key: str) -> None:
        topic, separator, group = key.partition(SEPARATOR)
        # A key with more than one separator does not belong to any group that the real broker would
        # list.
        if not separator or SEPARATOR in group:
            return
        topics = self._topics.get(group)
        if topics is None:
            topics = self._topics[group] = {}
        topics[topic] = None
        many = self._many.get(group)
        if many is not None:
            many.add(topic)
        elif len(topics) > _MANY:
            self._few.removed(group)
            self._many[group] = _Many(topics)
        else:
            self._few.changed(group)

    def remove(self, key: str) -> None:
        topic, _, group = key.partition(SEPARATOR)
        topics = self._topics.get(group)
        if topics is None or topics.pop(topic, 0) is not None:
            return
        many = self._many.get(group)
        if many is not None:
            many.remove(topic)
        if not topics:
            del self._topics[group]
            self._many.pop(group, None)
            self._few.removed(group)
        elif many is None:
            self._few.changed(group)

    def object_pieces(self) -> Iterator[bytes]:
        """The table with its braces, a bounded amount of work per piece."""
        if not self._topics:
            return iter((b"{}",))
        return chain((b"{",), self._pieces(), (b"\n\t}",))

    def _pieces(self) -> Iterator[bytes]:
        separator = b""
        for piece in self._few.pieces():
            yield piece
            separator = b","
        for group, many in list(self._many.items()):
            yield separator + f"\n\t\t{quoted(group)}:[".encode()
            yield from many.pieces()
            yield b"\n\t\t]"
            separator = b","

    def _encode(self, group: str) -> str:
        return pretty_array([quoted(topic) for topic in self._topics[group]], 2)
