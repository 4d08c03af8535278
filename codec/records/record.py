"""Records of the commit log (CommitLog, MessageExtEncoder, MessageDecoder).

`codec.layouts.record` declares the layout; this is its precompiled twin. Version 2 differs from
version 1 by its magic and by a topic length of two bytes instead of one; it is used for topics
longer than 127 bytes.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Any, Final

from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import crc32_31

MAGIC_V1: Final = 0xDAA320A7
MAGIC_V2: Final = 0xDAA320AB
MAGIC_BLANK: Final = 0xCBD43194
# The bytes by which records are found in unknown data; a blank does not count.
RECORD_MAGICS: Final = (b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab")
# A blank is at least its own size and magic; a record leaves that much room after it.
BLANK_SIZE: Final = 8
# Every length and number of a version 1 record with two IPv4 hosts.
FIXED_SIZE: Final = 91
LONGEST_V1_TOPIC: Final = 127
LONGEST_PROPERTIES: Final = 32767

_BORN_HOST_V6: Final = 0x10
_STORE_HOST_V6: Final = 0x20
_HOST_V6_EXTRA: Final = 12

_HEAD: Final = struct.Struct(">II")
_LENGTH: Final = struct.Struct(">I")
_TOPIC_V1: Final = struct.Struct(">B")
_TOPIC_V2: Final = struct.Struct(">H")
_PROPERTIES: Final = struct.Struct(">H")
# Everything up to and with the body length, by (sys_flag >> 4) & 3: which hosts are IPv6.
_FIXED: Final = [
    struct.Struct(f">IIIiiqqiq{born}sq{store}siqI")
    for born, store in ((8, 8), (20, 8), (8, 20), (20, 20))
]

# What a scan needs from the same fields: all except flag, times and hosts.
_SKIMMED: Final = [
    struct.Struct(f">IIIi4xqqi8x{born}xq{store}x12xI")
    for born, store in ((8, 8), (20, 8), (8, 20), (20, 20))
]


class Record:
    """One message as it is stored."""

    __slots__ = (
        "body",
        "body_crc",
        "born_host",
        "born_timestamp",
        "flag",
        "magic",
        "physical_offset",
        "prepared_transaction_offset",
        "properties",
        "queue_id",
        "queue_offset",
        "reconsume_times",
        "store_host",
        "store_timestamp",
        "sys_flag",
        "topic",
        "total_size",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of a record
        self,
        total_size: int,
        magic: int,
        body_crc: int,
        queue_id: int,
        flag: int,
        queue_offset: int,
        physical_offset: int,
        sys_flag: int,
        born_timestamp: int,
        born_host: bytes,
        store_timestamp: int,
        store_host: bytes,
        reconsume_times: int,
        prepared_transaction_offset: int,
        body: bytes,
        topic: str,
        properties: bytes,
    ) -> None:
        self.total_size: int = total_size
        self.magic: int = magic
        self.body_crc: int = body_crc
        self.queue_id: int = queue_id
        self.flag: int = flag
        self.queue_offset: int = queue_offset
        self.physical_offset: int = physical_offset
        self.sys_flag: int = sys_flag
        self.born_timestamp: int = born_timestamp
        self.born_host: bytes = born_host
        self.store_timestamp: int = store_timestamp
        self.store_host: bytes = store_host
        self.reconsume_times: int = reconsume_times
        self.prepared_transaction_offset: int = prepared_transaction_offset
        self.body: bytes = body
        self.topic: str = topic
        self.properties: bytes = properties


def record_size(
    body_length: int, topic_length: int, properties_length: int, sys_flag: int = 0
) -> int:
    """How many bytes a record takes; lengths are those of the encoded topic and properties."""
    size = FIXED_SIZE + body_length + topic_length + properties_length
    if sys_flag & _BORN_HOST_V6:
        size += _HOST_V6_EXTRA
    if sys_flag & _STORE_HOST_V6:
        size += _HOST_V6_EXTRA
    if topic_length > LONGEST_V1_TOPIC:
        size += 1
    return size


def encode_record(  # noqa: PLR0913, PLR0917 - the fields of a record
    topic: bytes,
    queue_id: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    properties: bytes,
) -> bytes:
    """The whole record, offsets and times included: nothing is patched in later.

    The hosts must be as long as sys_flag's two IPv6 bits say.
    """
    topic_length = len(topic)
    properties_length = len(properties)
    body_length = len(body)
    _check(sys_flag, born_host, store_host, properties_length)
    size = FIXED_SIZE + body_length + topic_length + properties_length
    size += len(born_host) + len(store_host) - 16
    if topic_length > LONGEST_V1_TOPIC:
        magic = MAGIC_V2
        size += 1
        topic_length_bytes = _TOPIC_V2.pack(topic_length)
    else:
        magic = MAGIC_V1
        topic_length_bytes = _TOPIC_V1.pack(topic_length)
    return b"".join(
        (
            _FIXED[sys_flag >> 4 & 3].pack(
                size,
                magic,
                crc32_31(body),
                queue_id,
                flag,
                queue_offset,
                physical_offset,
                sys_flag,
                born_timestamp,
                born_host,
                store_timestamp,
                store_host,
                reconsume_times,
                prepared_transaction_offset,
                body_length,
            ),
            body,
            topic_length_bytes,
            topic,
            _PROPERTIES.pack(properties_length),
            properties,
        )
    )


def _check(sys_flag: int, born_host: bytes, store_host: bytes, properties_length: int) -> None:
    if len(born_host) != (20 if sys_flag & _BORN_HOST_V6 else 8):
        raise CodecError(f"a born host of {len(born_host)} bytes contradicts sysFlag {sys_flag}")
    if len(store_host) != (20 if sys_flag & _STORE_HOST_V6 else 8):
        raise CodecError(f"a store host of {len(store_host)} bytes contradicts sysFlag {sys_flag}")
    if properties_length > LONGEST_PROPERTIES:
        raise CodecError(f"properties of {properties_length} bytes do not fit a record")


def encode_blank(size: int) -> bytes:
    """The head of the filler that ends a file; the rest of its `size` bytes may hold anything."""
    return _HEAD.pack(size, MAGIC_BLANK)


def peek(buffer: bytes | memoryview, offset: int = 0) -> tuple[int, int]:
    """Size and magic of what is there: a record, a blank, or (0, 0) where there is nothing yet."""
    if offset < 0 or offset + 8 > len(buffer):
        raise CodecError(f"no record head at byte {offset} of {len(buffer)}")
    size, magic = _HEAD.unpack_from(buffer, offset)
    return size, magic


def parse_record(buffer: bytes | memoryview, offset: int = 0, check_crc: bool = True) -> Record:
    """Read the record at that byte; CodecError when there is none, or it is damaged or incomplete."""
    size, magic = peek(buffer, offset)
    topic_length_size = _topic_length_size(magic, offset)
    end = offset + size
    if end > len(buffer) or size < FIXED_SIZE:
        raise CodecError(
            f"the record at byte {offset} claims {size} bytes, {len(buffer) - offset} are there"
        )
    # The sysFlag precedes the hosts whose length it gives.
    fixed = _FIXED[buffer[offset + 39] >> 4 & 3]
    body_at = offset + fixed.size
    if body_at + topic_length_size + 2 > end:
        raise CodecError(f"the record at byte {offset} claims a size of {size}")
    fields = fixed.unpack_from(buffer, offset)
    body_length: int = fields[14]
    topic_at = body_at + body_length + topic_length_size
    if topic_at + 2 > end:
        raise CodecError(f"the record at byte {offset} claims a body of {body_length} bytes")
    topic_length = buffer[topic_at - 1]
    if topic_length_size == 2:
        topic_length |= buffer[topic_at - 2] << 8
    properties_at = topic_at + topic_length + 2
    if properties_at > end:
        raise CodecError(f"the record at byte {offset} claims a topic of {topic_length} bytes")
    properties_length = buffer[properties_at - 2] << 8 | buffer[properties_at - 1]
    if properties_at + properties_length != end:
        raise CodecError(f"the lengths in the record at byte {offset} do not add up to {size}")
    body = bytes(buffer[body_at : body_at + body_length])
    body_crc: int = fields[2]
    # As in the real broker, a record without a body is not checked.
    if check_crc and body_length and crc32_31(body) != body_crc:
        raise CodecError(f"the body of the record at byte {offset} does not match its CRC")
    return Record(
        size,
        magic,
        body_crc,
        fields[3],
        fields[4],
        fields[5],
        fields[6],
        fields[7],
        fields[8],
        fields[9],
        fields[10],
        fields[11],
        fields[12],
        fields[13],
        body,
        _topic(bytes(buffer[topic_at : topic_at + topic_length]), offset),
        bytes(buffer[properties_at:end]),
    )


Skimmed = tuple[int, int, int, int, int, int, bytes, bytes]


def skim_record(buffer: bytes, offset: int) -> Skimmed | None:
    """Like `parse_record`, for scans over many: None if there is no whole, undamaged record.

    Size, queue id, queue offset, physical offset, sysFlag, store timestamp, topic, properties.
    """
    room = len(buffer) - offset
    if room < FIXED_SIZE:
        return None
    fixed = _SKIMMED[buffer[offset + 39] >> 4 & 3]
    if room < fixed.size:
        return None
    size, magic, crc, queue_id, queue_offset, at, sys_flag, time, length = fixed.unpack_from(
        buffer, offset
    )
    body_at = offset + fixed.size
    topic_at = body_at + length + 1
    end = offset + size
    if size > room or topic_at + 2 > end:
        return None
    topic_length = buffer[topic_at - 1]
    if magic == MAGIC_V2:
        topic_length = topic_length << 8 | buffer[topic_at]
        topic_at += 1
    elif magic != MAGIC_V1:
        return None
    properties_at = topic_at + topic_length + 2
    if properties_at > end:
        return None
    if properties_at + (buffer[properties_at - 2] << 8 | buffer[properties_at - 1]) != end:
        return None
    if length and crc32_31(memoryview(buffer)[body_at : body_at + length]) != crc:
        return None
    topic = buffer[topic_at : properties_at - 2]
    return size, queue_id, queue_offset, at, sys_flag, time, topic, buffer[properties_at:end]


def outline_records(
    buffer: bytes, at: int, end: int, base: int, rows: list[tuple[Any, ...]]
) -> int:
    """Append the layout of each whole record from `at` on; return where the last one ended.

    A row has the fields of the record's head in their order (`total_size` first, the body's length
    last), then where in the buffer body, topic and properties begin and where the record ends. The
    walk stops at anything that is not a whole record, and unless `base` is negative also at one
    that does not name the offset `base` + its position. No CRC is checked.
    """
    while at + FIXED_SIZE <= end:
        fixed = _FIXED[buffer[at + 39] >> 4 & 3]
        body_at = at + fixed.size
        if body_at + 3 > end:
            break
        fields = fixed.unpack_from(buffer, at)
        size: int = fields[0]
        magic: int = fields[1]
        length: int = fields[14]
        stop = at + size
        topic_at = body_at + length + 1
        if stop > end or topic_at + 2 > stop or (base >= 0 and fields[6] != base + at):
            break
        topic_length = buffer[topic_at - 1]
        if magic == MAGIC_V2:
            topic_length = topic_length << 8 | buffer[topic_at]
            topic_at += 1
        elif magic != MAGIC_V1:
            break
        properties_at = topic_at + topic_length + 2
        if properties_at > stop:
            break
        if properties_at + (buffer[properties_at - 2] << 8 | buffer[properties_at - 1]) != stop:
            break
        rows.append((*fields, body_at, topic_at, properties_at, stop))
        at = stop
    return at


def _topic_length_size(magic: int, offset: int) -> int:
    if magic == MAGIC_V1:
        return 1
    if magic == MAGIC_V2:
        return 2
    raise CodecError(f"no record at byte {offset}: its magic is {magic:#x}")


def _topic(data: bytes, offset: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CodecError(f"the topic of the record at byte {offset} is not UTF-8") from None
