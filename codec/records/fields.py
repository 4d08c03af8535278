"""Single fields of a record, read without reading all of it.

Their position depends only on the born host's size, which the sysFlag before it gives.
"""

import struct
from typing import Final

from trimq.codec.flags import SysFlag

# This many bytes of a record hold every field that is read here.
HEAD_SIZE: Final = 76
# This many hold its size.
LENGTH_SIZE: Final = 4
_LENGTH: Final = struct.Struct(">I")
_LONG: Final = struct.Struct(">q")
_QUEUE_OFFSET_AT: Final = 20
_PHYSICAL_OFFSET_AT: Final = 28
_PHYSICAL_OFFSET_END: Final = 36
_SYS_FLAG_AT: Final = 36
_STORE_TIME_AT: Final = 56
_STORE_TIME_AT_V6: Final = 68


def size_at(data: bytes | memoryview, at: int = 0) -> int:
    """How long the record that begins there says it is, and everything else that begins with a length."""
    size: int = _LENGTH.unpack_from(data, at)[0]
    return size


def physical_offset_at(head: bytes | memoryview, at: int = 0) -> int:
    """Where in the commit log a record says that it is."""
    offset: int = _LONG.unpack_from(head, at + _PHYSICAL_OFFSET_AT)[0]
    return offset


def queue_offset_at(head: bytes | memoryview, at: int = 0) -> int:
    """Where in its queue a record says that it is."""
    offset: int = _LONG.unpack_from(head, at + _QUEUE_OFFSET_AT)[0]
    return offset


def at_offset(record: bytes, physical_offset: int) -> list[bytes]:
    """The record, in pieces, as it lies at another physical offset; its CRC covers the body alone."""
    head, tail = record[:_PHYSICAL_OFFSET_AT], record[_PHYSICAL_OFFSET_END:]
    return [head, _LONG.pack(physical_offset), tail]


def at_queue_offset(record: bytes, queue_offset: int) -> bytes:
    """The record as it is at another place of its queue."""
    return record[:_QUEUE_OFFSET_AT] + _LONG.pack(queue_offset) + record[_PHYSICAL_OFFSET_AT:]


def store_time_at(head: bytes | memoryview, at: int = 0) -> int:
    """When a record was stored, in milliseconds since 1970; HEAD_SIZE bytes of it are needed."""
    is_v6 = head[at + _SYS_FLAG_AT + 3] & SysFlag.BORN_HOST_V6
    time: int = _LONG.unpack_from(head, at + (_STORE_TIME_AT_V6 if is_v6 else _STORE_TIME_AT))[0]
    return time
