"""What a send costs for its one message: examining its properties, its id, its tag; and what a filter
costs, looking a property up. `_sends.c` is its twin.

The record is codec/records/record.py's here.
"""

from functools import lru_cache
from typing import Final

from trimq.codec.java.hashes import string_hash
from trimq.codec.records.properties import find_property, find_value
from trimq.codec.records.record import encode_record

__all__ = [
    "encode_record",
    "message_id",
    "property_text",
    "sent_properties",
    "tag_hash",
]

_NAME_END: Final = b"\x01"
_ENTRY_END: Final = b"\x02"
# Different tags remembered at most; applications use a handful.
_TAGS_KEPT: Final = 4096
# Keys that are looked at one by one.
_MOST_KEYS: Final = 128
_MOST: Final = (1 << 63) - 1


def sent_properties(
    text: str, added: bytes, deciding: tuple[bytes, ...], /
) -> tuple[bytes, str | None, int] | None:
    """What a producer sent, in one pass: the block as it is stored, its UNIQ_KEY, its tag's hash.

    The block ends in `added`; without a UNIQ_KEY that is None, and the block ends before `added`.
    None: the block has to be parsed, since a key is there twice or among `deciding`, an entry is
    malformed, or there are very many.
    """
    try:
        block = text.encode()
    except UnicodeEncodeError:
        return None
    if block and not block.endswith(_ENTRY_END):
        block += _ENTRY_END
    unique: str | None = None
    tag = ""
    keys: set[bytes] = set()
    for entry in block.split(_ENTRY_END)[:-1]:
        key, _, value = entry.partition(_NAME_END)
        if not key or not value or _NAME_END in value or key in deciding or key in keys:
            return None
        keys.add(key)
        if key == b"TAGS":
            if not value.isascii():
                return None
            tag = value.decode()
        elif key == b"UNIQ_KEY":
            unique = value.decode()
    if len(keys) > _MOST_KEYS:
        return None
    return block if unique is None else block + added, unique, string_hash(tag)


def tag_hash(properties: bytes, /) -> int | None:
    """The Java hash of the last TAGS that has a value; 0: there is none; None: it is not ASCII."""
    # Most messages have none, and that is seen at a glance.
    tags = find_property(properties, b"TAGS") if b"TAGS\x01" in properties else None
    return 0 if tags is None else _ascii_hash(tags)


@lru_cache(_TAGS_KEPT)
def _ascii_hash(text: bytes) -> int | None:
    return string_hash(text.decode()) if text.isascii() else None


def message_id(start: str, position: int, /) -> str:
    """The id of the record that lies there; `start` is the store host's part.

    ValueError: that is not ASCII, or no record can be there.
    """
    if not start.isascii() or not 0 <= position <= _MOST:
        raise ValueError("an id begins with ASCII text, and its position is not negative")
    return f"{start}{position:016X}"


def property_text(properties: bytes, name: bytes, /) -> str | None:
    """The text of the last property of that name that has a value; `name` ends as it is stored."""
    found = find_value(properties, name)
    return None if found is None else found.decode("utf-8", "replace")
