"""Where a record's properties are, for readers that want nothing else (MessageDecoder.decodeProperties).

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

# Everything before the body, with two IPv6 hosts.
LONGEST_HEAD: Final = 112
_SHORTEST_HEAD: Final = 88
_HOST_V6_EXTRA: Final = 12
_MAGIC_V2_END: Final = 0xAB


def properties_in(data: bytes, at: int, size: int) -> bytes:
    """Of the record of `size` bytes that begins at `at`; empty for bytes that are no record."""
    end = at + size
    if size < LONGEST_HEAD and size < _SHORTEST_HEAD + 3:
        return b""
    body_end = at + after_body(data, at)
    return properties_after(data, body_end, end, data[at + 7])


def after_body(data: bytes, at: int = 0) -> int:
    """How far from the record's beginning its body ends; LONGEST_HEAD bytes of it are enough."""
    hosts = data[at + 39] >> 4 & 3
    head = _SHORTEST_HEAD + _HOST_V6_EXTRA * ((hosts & 1) + (hosts >> 1))
    end = at + head
    if end > len(data):
        return 0
    return head + (data[end - 4] << 24 | data[end - 3] << 16 | data[end - 2] << 8 | data[end - 1])


def properties_after(data: bytes, at: int, end: int, magic: int) -> bytes:
    """Of the record whose body ends at `at`, and the record at `end`; `magic` is the last byte of its own."""
    if at + 4 > end:
        return b""
    topic = data[at]
    at += 1
    if magic == _MAGIC_V2_END:
        topic = topic << 8 | data[at]
        at += 1
    at += topic + 2
    if at > end:
        return b""
    length = data[at - 2] << 8 | data[at - 1]
    return data[at : at + length] if at + length <= end else b""
