"""The names of light queues that exist, those of lite topics by the topic that they are below.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from itertools import islice

from trimq.codec.names import LITE_START, is_lite_queue

# What stands for the parent of a light queue that is no lite topic's.
_NONE = ""


class LightNames:
    __slots__ = ("_by_parent", "_count")

    def __init__(self) -> None:
        self._by_parent: dict[str, dict[str, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def has(self, name: str) -> bool:
        return name in self._by_parent.get(_parent_of(name), ())

    def add(self, name: str) -> None:
        parent = _parent_of(name)
        names = self._by_parent.get(parent)
        if names is None:
            names = self._by_parent[parent] = {}
        if name not in names:
            names[name] = None
            self._count += 1

    def discard(self, name: str) -> None:
        parent = _parent_of(name)
        names = self._by_parent.get(parent)
        if names is not None and names.pop(name, 0) is None:
            self._count -= 1
            if not names:
                del self._by_parent[parent]

    def parents(self) -> list[str]:
        """Topics that have lite topics."""
        return [parent for parent in self._by_parent if parent != _NONE]

    def of_parent(self, topic: str, most: int | None = None) -> list[str]:
        """The light queues of a topic's lite topics, in the order in which they came; `most`: of the first ones."""
        return list(islice(self._by_parent.get(topic, ()), most)) if topic else []

    def count_of_parent(self, topic: str) -> int:
        return len(self._by_parent.get(topic, ())) if topic else 0


def _parent_of(name: str) -> str:
    """As LiteUtil.belongsTo: whatever follows the parent's name."""
    if not is_lite_queue(name):
        return _NONE
    parent, separator, _ = name[LITE_START:].partition("$")
    return parent if separator else _NONE
