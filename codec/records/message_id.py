"""The offset message id: where a message is, as upper-case hex (MessageDecoder.createMessageId).

Store host (4 or 16 address bytes, int port) and the physical offset: 32 or 56 characters.
"""

import struct
from typing import Final

from trimq.codec.errors import CodecError

_OFFSET: Final = struct.Struct(">q")


def offset_message_id(store_host: bytes, physical_offset: int) -> str:
    return (store_host + _OFFSET.pack(physical_offset)).hex().upper()


def parse_offset_message_id(text: str) -> tuple[bytes, int]:
    """The packed store host and the physical offset."""
    if len(text) not in (32, 56):
        raise CodecError(f"an offset message id has 32 or 56 characters, not {len(text)}")
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        raise CodecError(f"{text!r} is not hexadecimal") from None
    if len(packed) * 2 != len(text):
        raise CodecError(f"{text!r} is not hexadecimal")
    return packed[:-8], _OFFSET.unpack_from(packed, len(packed) - 8)[0]
