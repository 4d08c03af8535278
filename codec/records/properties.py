"""Message properties as one block of bytes: `key 0x01 value 0x02` repeated (MessageDecoder).

Readers skip entries without a separator, with an empty key or with an empty value; of two
entries with one key the later counts. The last 0x02 may be missing.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

NAME_END: Final = "\x01"
ENTRY_END: Final = "\x02"
_NAME_END: Final = b"\x01"
_ENTRY_END: Final = b"\x02"


def parse_properties(block: bytes | str) -> dict[str, str]:
    text = block if isinstance(block, str) else block.decode("utf-8", "replace")
    properties: dict[str, str] = {}
    for entry in text.split("\x02"):
        at = entry.find("\x01")
        if 0 < at < len(entry) - 1:
            properties[entry[:at]] = entry[at + 1 :]
    return properties


def format_properties(properties: dict[str, str]) -> bytes:
    entries: list[str] = []
    for key, value in properties.items():
        entries.append(key)
        entries.append("\x01")
        entries.append(value)
        entries.append("\x02")
    return "".join(entries).encode()


def find_property(block: bytes, key: bytes) -> bytes | None:
    """One property's value without parsing the others."""
    return find_value(block, key + _NAME_END)


def find_value(block: bytes, wanted: bytes) -> bytes | None:
    """The same, by the property's name with its end."""
    at = len(block)
    while True:
        at = block.rfind(wanted, 0, at)
        if at < 0:
            return None
        if at == 0 or block[at - 1] == 2:
            start = at + len(wanted)
            end = block.find(_ENTRY_END, start)
            value = block[start:] if end < 0 else block[start:end]
            if value:
                return value
        # A match later in the block may have been the end of another key: search further left.
        at += len(wanted) - 1


def without_property(block: bytes, key: bytes) -> bytes:
    """The block without the entries of that key, the rest as it is."""
    if key + _NAME_END not in block:
        return block
    wanted = key + _NAME_END
    kept: list[bytes] = []
    for entry in block.split(_ENTRY_END):
        if entry and not entry.startswith(wanted):
            kept.append(entry)
            kept.append(_ENTRY_END)
    return b"".join(kept)
