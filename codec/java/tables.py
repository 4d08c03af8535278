"""The orders in which Java's hash tables list their keys.

Clients and tools see these orders: in routes, and in what the official tool prints. Buckets of more
than eight keys, which Java turns into trees, are not covered.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from trimq.codec.java.hashes import string_hash

K = TypeVar("K")


def hash_order(
    keys: Iterable[K], hash_of: Callable[[Any], int] = string_hash, capacity: int = 16
) -> list[K]:
    """Keys in the order of a `HashMap` or `HashSet` that they were put into one by one.

    A table grows to twice its size when it is more than three quarters full; keys of one bucket
    stay in the order in which they came.
    """
    listed = list(dict.fromkeys(keys))
    while len(listed) > capacity * 3 // 4:
        capacity *= 2
    return sorted(listed, key=lambda key: _spread(hash_of(key)) & (capacity - 1))


def copied_order(keys: Iterable[K]) -> list[K]:
    """Keys in the order of a `HashSet` that was made from a collection, up to JDK 18.

    Its table is sized for a third more keys, and one, than there are: often twice that of a set
    to which the same keys were added.
    """
    listed = list(keys)
    return hash_order(listed, capacity=max(1 << (len(listed) * 4 // 3).bit_length(), 16))


def concurrent_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of a `ConcurrentHashMap`, also that of a `java.util.Properties`.

    It starts with 16 buckets and doubles when it is three quarters full; moving a bucket to the new
    table turns round all nodes but the last run of those that stay together.
    """
    table: list[list[str]] = [[] for _ in range(16)]
    for count, key in enumerate(dict.fromkeys(keys), 1):
        table[_spread(string_hash(key)) & (len(table) - 1)].append(key)
        if count >= len(table) * 3 // 4:
            table = _doubled(table)
    return [key for bucket in table for key in bucket]


def filled_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of an empty `ConcurrentHashMap` that got another one's by `putAll`.

    It makes room for half as many again, and twice that, before it adds anything.
    """
    listed = concurrent_order(keys)
    room = 1 << (len(listed) + len(listed) // 2).bit_length()
    return hash_order(listed, capacity=max(2 * room, 16))


def _doubled(table: list[list[str]]) -> list[list[str]]:
    size = len(table)
    bigger: list[list[str]] = [[] for _ in range(2 * size)]
    for index, bucket in enumerate(table):
        sides = [_spread(string_hash(key)) & size for key in bucket]
        last = len(bucket)
        while last > 1 and sides[last - 2] == sides[-1]:
            last -= 1
        start = last - 1 if bucket else 0
        for place, side in ((index, 0), (index + size, size)):
            run = bucket[start:] if bucket and sides[-1] == side else []
            turned = [bucket[at] for at in range(start - 1, -1, -1) if sides[at] == side]
            bigger[place] = turned + run
    return bigger


def _spread(value: int) -> int:
    value &= 0xFFFFFFFF
    return value ^ value >> 16
