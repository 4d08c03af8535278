"""Which light queues a record is in beside its own, and where: two of its properties.

INNER_MULTI_DISPATCH names queues, separated by commas; INNER_MULTI_QUEUE_OFFSET has their offsets in the same
order, set when the record is stored (LmqDispatch, ConsumeQueue.multiDispatchLmqQueue).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.names import LMQ_PREFIX
from trimq.codec.records.properties import find_value, without_property
from trimq.codec.records.property_keys import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
)

# Names and offsets are separated by it (MixAll.LMQ_DISPATCH_SEPARATOR).
COMMA: Final = ","
# A light queue is a folder; no file system takes a longer name.
LONGEST_NAME: Final = 255
# Digits: 20 bytes of each entry must have a place.
_LONGEST_NUMBER: Final = 15

# What a block of properties has inside, if its record may be in light queues.
NAMES_MARK: Final = INNER_MULTI_DISPATCH.encode() + b"\x01"
OFFSETS_MARK: Final = INNER_MULTI_QUEUE_OFFSET.encode() + b"\x01"

NOWHERE: Final[tuple[tuple[str, int], ...]] = ()


def split_names(value: str) -> list[str]:
    """As Java splits by commas: empty ones at the end do not count."""
    names = value.split(COMMA)
    while names and not names[-1]:
        names.pop()
    return names


def can_be_light(name: str) -> bool:
    """Whether a light queue may have this name: it becomes that of a folder."""
    return (
        name.startswith(LMQ_PREFIX)
        and "/" not in name
        and "\0" not in name
        and len(name.encode("utf-8", "replace")) <= LONGEST_NAME
    )


def wanted_names(properties: bytes) -> list[str]:
    """The names in INNER_MULTI_DISPATCH, whatever they are; none when it is missing or blank."""
    value = find_value(properties, NAMES_MARK)
    if value is None:
        return []
    text = value.decode("utf-8", "replace")
    return split_names(text) if text.strip() else []


def with_offsets(properties: bytes, offsets: list[int]) -> bytes:
    """The properties as they are stored: with these offsets in place of others.

    WAIT stays: 5.5.0 takes it out of the text, and makes that anew from its table (handlePropertiesForLmqMsg).
    """
    block = without_property(properties, INNER_MULTI_QUEUE_OFFSET.encode())
    if block and not block.endswith(b"\x02"):
        block += b"\x02"
    return block + OFFSETS_MARK + COMMA.join([str(one) for one in offsets]).encode() + b"\x02"


def without_offsets(properties: bytes) -> bytes:
    """The properties of a record that is in no light queue, whatever its sender says."""
    return without_property(properties, INNER_MULTI_QUEUE_OFFSET.encode())


def light_places(properties: bytes) -> tuple[tuple[str, int], ...]:
    """The light queues that a stored record is in, each once, with its offset there.

    Nothing when there are not as many offsets as names. Names that cannot be a light queue's are left
    out. Whether the store has light queues, and whether the record's topic allows them (`names.allows_light`),
    is for others to say.
    """
    if NAMES_MARK not in properties:
        return NOWHERE
    value = find_value(properties, OFFSETS_MARK)
    if value is None:
        return NOWHERE
    names = wanted_names(properties)
    numbers = split_names(value.decode("utf-8", "replace"))
    if len(names) != len(numbers):
        return NOWHERE
    places: dict[str, int] = {}
    for index, name in enumerate(names):
        number = numbers[index]
        if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_NUMBER:
            continue
        if name not in places and can_be_light(name):
            places[name] = int(number)
    return tuple(places.items())
