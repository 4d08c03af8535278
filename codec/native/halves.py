"""What a half message and its copy cost: the properties that decide, and a block without some of them.

`_halves.c` is its twin.
"""

from typing import Final

from trimq.codec.records.properties import find_value

__all__ = ["ordinary_properties", "property_values"]

_NAME_END: Final = b"\x01"
_ENTRY_END: Final = b"\x02"
# More entries than that are not ordinary.
_MOST_ENTRIES: Final = 64


def property_values(properties: bytes, names: tuple[bytes, ...], /) -> tuple[bytes | None, ...]:
    """Of each name, which ends as it is stored, the value of the last property that has one; None without one."""
    return tuple([find_value(properties, name) for name in names])


def ordinary_properties(
    properties: str | bytes,
    dropped: tuple[bytes, ...],
    deciding: tuple[bytes, ...],
    wanted: tuple[bytes, ...],
    /,
) -> tuple[bytes, tuple[bytes | None, ...]] | None:
    """The block without the entries of the dropped keys, each entry closed, and the values of the wanted keys.

    Just what parsing and formatting gives. None: an entry is none, a key is there twice or among
    `deciding`, there are very many, or the bytes are not UTF-8.
    """
    try:
        block = properties.encode() if isinstance(properties, str) else properties
        block.decode()
    except UnicodeError:
        return None
    entries = block.removesuffix(_ENTRY_END).split(_ENTRY_END) if block else []
    found: dict[bytes, bytes] = {}
    kept: list[bytes] = []
    for entry in entries:
        key, _, value = entry.partition(_NAME_END)
        if not key or not value or _NAME_END in value or key in deciding or key in found:
            return None
        found[key] = value
        if key not in dropped:
            kept.append(entry + _ENTRY_END)
    if len(found) > _MOST_ENTRIES:
        return None
    return b"".join(kept), tuple([found.get(key) for key in wanted])
