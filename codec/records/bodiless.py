"""A record without its body, for readers who want everything else of records that may be large."""

from __future__ import annotations

import struct
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.records.record import FIXED_SIZE, Record, parse_record

# This many bytes of a record say how long its body is, whatever hosts it has.
HEAD_SIZE: Final = FIXED_SIZE + 24
_SYS_FLAG_BYTE: Final = 39
# By that byte's two IPv6 bits.
_BODY_AT: Final = (88, 100, 100, 112)
_LENGTH: Final = struct.Struct(">I")


def body_extent(head: bytes) -> tuple[int, int]:
    """Where in a record its body begins and ends, from its first bytes. CodecError if they are too few."""
    if len(head) < FIXED_SIZE:
        raise CodecError(f"{len(head)} bytes are no head of a record")
    at = _BODY_AT[head[_SYS_FLAG_BYTE] >> 4 & 3]
    if len(head) < at:
        raise CodecError(f"{len(head)} bytes are no head of a record")
    length: int = _LENGTH.unpack_from(head, at - 4)[0]
    return at, at + length


def parse_bodiless(head: bytes, tail: bytes) -> Record:
    """The record whose body lies between these bytes, with an empty one. CodecError.

    `head`: at least HEAD_SIZE bytes, or all before the body; `tail`: all that follows the body.
    """
    at, _ = body_extent(head)
    size = at + len(tail)
    pieces = (_LENGTH.pack(size), head[4 : at - 4], _LENGTH.pack(0), tail)
    record = parse_record(b"".join(pieces))
    record.total_size = _LENGTH.unpack_from(head)[0]
    return record
