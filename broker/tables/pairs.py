"""Keys of tables by topic and group, `topic@group`, found by either: a topic or a group that goes takes its own along
without a look at all others.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.broker.tables.spread_dict import SpreadDict
from trimq.codec.names import LMQ_PREFIX

SEPARATOR: Final = "@"
# What is committed for a broadcasting group (broker/consume/broadcast_offsets.py).
_OF_BROADCASTS: Final = SEPARATOR + "broadcast"
_LIGHT_GROUP: Final = SEPARATOR + LMQ_PREFIX


class _ByPart:
    """Keys by one of their parts. A part with one key only, as that of a lite topic, has no table of its own."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: SpreadDict[str, str | SpreadDict[str, None]] = SpreadDict()

    def add(self, part: str, key: str) -> None:
        known = self._keys.get(part)
        if known is None:
            self._keys[part] = key
        elif isinstance(known, SpreadDict):
            known[key] = None
        elif known != key:
            keys: SpreadDict[str, None] = SpreadDict()
            keys[known] = keys[key] = None
            self._keys[part] = keys

    def remove(self, part: str, key: str) -> None:
        known = self._keys.get(part)
        if isinstance(known, SpreadDict):
            known.pop(key)
            if not known:
                self._keys.pop(part)
        elif known == key:
            self._keys.pop(part)

    def of(self, part: str) -> list[str]:
        known = self._keys.get(part)
        if known is None:
            return []
        return list(known) if isinstance(known, SpreadDict) else [known]


class Pairs:
    """The keys of one table, or of several that go together."""

    __slots__ = ("_by_group", "_by_topic")

    def __init__(self) -> None:
        self._by_topic = _ByPart()
        self._by_group = _ByPart()

    def add(self, key: str) -> None:
        topic, group = parts_of(key)
        self._by_topic.add(topic, key)
        self._by_group.add(group, key)

    def remove(self, key: str) -> None:
        topic, group = parts_of(key)
        self._by_topic.remove(topic, key)
        self._by_group.remove(group, key)

    def of_topic(self, topic: str) -> list[str]:
        """In the order in which they came, if they are few."""
        return self._by_topic.of(topic)

    def of_group(self, group: str) -> list[str]:
        return self._by_group.of(group)


def parts_of(key: str) -> tuple[str, str]:
    """Topic and group.

    An ordinary group's name has no separator, but for what is committed for a broadcasting one; names of light queues,
    and of groups that are named like them, may have some.
    """
    at = key.find(_LIGHT_GROUP)
    if at < 0 and key.endswith(_OF_BROADCASTS):
        at = key.rfind(SEPARATOR, 0, len(key) - len(_OF_BROADCASTS))
    if at < 0:
        at = key.rfind(SEPARATOR)
    return key[: max(at, 0)], key[at + 1 :]
