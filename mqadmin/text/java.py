"""Values as Java prints them, in the orders of its hash tables.

The official tool prints maps and sets in the order of its hash tables, so the same order is needed
for the same output.
"""

from collections.abc import Mapping
from typing import Any

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java import tables as java_tables
from trimq.codec.java.hashes import string_hash

# The commands find everything about Java here.
hash_order = java_tables.hash_order
filled_order = java_tables.filled_order
properties_order = java_tables.concurrent_order


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


def queue_hash(queue: MessageQueue) -> int:
    """MessageQueue.hashCode."""
    value = 1
    for part in (string_hash(queue.broker_name), queue.queue_id, string_hash(queue.topic)):
        value = value * 31 + part
    return value


def string_map(values: Mapping[str, Any], capacity: int = 16) -> dict[str, Any]:
    """A map of strings in the order of a `HashMap`."""
    return {key: values[key] for key in hash_order(values, capacity=capacity)}


def joined(parts: Mapping[str, Any]) -> str:
    """`name=value, name=value`, as in most toString methods."""
    return ", ".join(f"{name}={java(value)}" for name, value in parts.items())
