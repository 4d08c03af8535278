"""A batch send's body: items of flag, body and properties (MessageDecoder.encodeMessages).

Each item: int size of the whole item, two unused ints, int flag, int body length and body,
short properties length and properties.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

from trimq.codec.errors import CodecError

_FIXED: Final = struct.Struct(">iIIii")
_SHORT: Final = struct.Struct(">h")
_MIN_ITEM: Final = 22


class BatchItem:
    """One message of a batch."""

    __slots__ = ("body", "flag", "properties")

    def __init__(self, flag: int, body: bytes, properties: bytes) -> None:
        self.flag: int = flag
        self.body: bytes = body
        self.properties: bytes = properties


def split_batch(data: bytes) -> list[BatchItem]:
    items: list[BatchItem] = []
    at = 0
    while at < len(data):
        left = len(data) - at
        if left < _MIN_ITEM:
            raise CodecError(f"the batch breaks off at byte {at} of {len(data)}")
        # The size word is ignored: the lengths that follow are sufficient.
        _, _, _, flag, body_length = _FIXED.unpack_from(data, at)
        if not 0 <= body_length <= left - _MIN_ITEM:
            raise CodecError(f"batch item at byte {at}: body length {body_length} is too long")
        body_at = at + 20
        properties_at = body_at + body_length + 2
        (properties_length,) = _SHORT.unpack_from(data, properties_at - 2)
        end = properties_at + properties_length
        if properties_length < 0 or end > len(data):
            raise CodecError(
                f"batch item at byte {at}: properties length {properties_length} is wrong"
            )
        items.append(
            BatchItem(flag, data[body_at : body_at + body_length], data[properties_at:end])
        )
        at = end
    return items


def count_items(data: bytes) -> int:
    """How many items a batch has by their size words alone (MessageDecoder.countInnerMsgNum)."""
    count = at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size <= 0 or at + max(size, 4) > len(data):
            raise CodecError(f"batch item at byte {at}: its size {size} is wrong")
        at += size
        count += 1
    return count


def join_batch(items: list[BatchItem]) -> bytes:
    """The body of a batch send."""
    parts: list[bytes] = []
    for item in items:
        size = _MIN_ITEM + len(item.body) + len(item.properties)
        parts.append(_FIXED.pack(size, 0, 0, item.flag, len(item.body)))
        parts.append(item.body)
        parts.append(_SHORT.pack(len(item.properties)))
        parts.append(item.properties)
    return b"".join(parts)
