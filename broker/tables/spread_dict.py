"""A dict that grows a little at a time.

A dict of a hundred thousand keys that has no room left is copied into a larger one, which takes some milliseconds. Ten
tables with a key for each lite topic do that in one step, as they are full at the same number. These keep their keys
in parts by hash: each part is copied alone, and no two at the same number.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Fewer are in one part, in the order in which they came.
_WHOLE: Final = 1024
_PARTS: Final = 64
# Not the bits by which a dict of that size places its keys.
_SHIFT: Final = 24


class SpreadDict(Generic[K, V]):
    """What callers need of a dict. The order is that of a dict as long as there are few keys."""

    __slots__ = ("_mask", "_parts")

    def __init__(self) -> None:
        self._parts: list[dict[K, V]] = [{}]
        self._mask = 0

    def __len__(self) -> int:
        return sum([len(part) for part in self._parts])

    def __contains__(self, key: K) -> bool:
        return key in self._parts[(hash(key) >> _SHIFT) & self._mask]

    def __iter__(self) -> Iterator[K]:
        """No key may come or go meanwhile."""
        return chain.from_iterable(self._parts)

    def __setitem__(self, key: K, value: V) -> None:
        part = self._parts[(hash(key) >> _SHIFT) & self._mask]
        part[key] = value
        if not self._mask and len(part) > _WHOLE:
            self._split()

    def get(self, key: K) -> V | None:
        return self._parts[(hash(key) >> _SHIFT) & self._mask].get(key)

    def pop(self, key: K) -> V | None:
        return self._parts[(hash(key) >> _SHIFT) & self._mask].pop(key, None)

    def clear(self) -> None:
        self._parts = [{}]
        self._mask = 0

    def _split(self) -> None:
        whole = self._parts[0]
        self._parts = [{} for _ in range(_PARTS)]
        self._mask = _PARTS - 1
        for key, value in whole.items():
            self._parts[(hash(key) >> _SHIFT) & self._mask][key] = value
