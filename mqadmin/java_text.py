"""Values as Java prints them, and the orders in which its hash tables list their keys.

The official tool prints maps and sets in the order of its hash tables, so the same order is needed
for the same output.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java import string_hash

K = TypeVar("K")


def java(value: Any) -> str:
    """`String.valueOf`: null, true, 1.0E-5, [a, b], {a=b}."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{java(key)}={java(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(java, value)) + "]"
    return str(value)


def _double(value: float) -> str:
    """Double.toString: a decimal point always, an exponent below 0.001 and from ten million on."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:.17g}" if "e" in repr(value) else repr(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        mantissa, _, exponent = f"{value:.16e}".partition("e")
        mantissa = mantissa.rstrip("0")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction or '0'}E{int(exponent)}"


def cut(text: str | None, size: int) -> str:
    """The first characters of a text (UtilAll.frontStringAtLeast)."""
    return java(text)[:size]


def local_time(millis: int) -> str:
    """`2026-01-31 23:59:59,999` in local time (UtilAll.timeMillisToHumanString2)."""
    moment = datetime.fromtimestamp(millis // 1000)
    return f"{moment:%Y-%m-%d %H:%M:%S},{millis % 1000:03d}"


def local_seconds(millis: int) -> str:
    """`2026-01-31 23:59:59` in local time."""
    return f"{datetime.fromtimestamp(millis // 1000):%Y-%m-%d %H:%M:%S}"


def compact_time(millis: int) -> str:
    """`20260131235959999` in local time (UtilAll.timeMillisToHumanString)."""
    return f"{datetime.fromtimestamp(millis // 1000):%Y%m%d%H%M%S}{millis % 1000:03d}"


def queue_hash(queue: MessageQueue) -> int:
    """MessageQueue.hashCode."""
    value = 1
    for part in (string_hash(queue.broker_name), queue.queue_id, string_hash(queue.topic)):
        value = value * 31 + part
    return value


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


def string_map(values: Mapping[str, Any], capacity: int = 16) -> dict[str, Any]:
    """A map of strings in the order of a `HashMap`."""
    return {key: values[key] for key in hash_order(values, capacity=capacity)}


def properties_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of a `java.util.Properties`, which is a `ConcurrentHashMap`.

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

    That makes room for half as many again, and twice of that, before it puts in anything.
    """
    listed = properties_order(keys)
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
