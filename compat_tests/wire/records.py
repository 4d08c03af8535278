"""Message records, batch items and property strings by hand (formats.md sections 2 to 4)."""

from __future__ import annotations

import socket
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

MAGIC_V1: Final = 0xDAA320A7
MAGIC_V2: Final = 0xDAA320AB
MAGIC_BLANK: Final = 0xCBD43194

_HEAD: Final = struct.Struct(">iIIiiqqiq")
_BORN_V6: Final = 0x10
_STORE_V6: Final = 0x20


@dataclass(slots=True)
class Record:
    """One record of the commit log, or of a pull reply's body."""

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: str
    store_timestamp: int
    store_host: str
    reconsume_times: int
    prepared_offset: int
    body: bytes
    topic: str
    properties: str

    @property
    def crc_holds(self) -> bool:
        return zlib.crc32(self.body) & 0x7FFFFFFF == self.body_crc


def read_record(data: bytes, start: int = 0) -> Record:
    """The record at `start`."""
    head = _HEAD.unpack_from(data, start)
    sys_flag, at = head[7], start + _HEAD.size
    born_host, at = _read_host(data, at, bool(sys_flag & _BORN_V6))
    (store_timestamp,) = struct.unpack_from(">q", data, at)
    store_host, at = _read_host(data, at + 8, bool(sys_flag & _STORE_V6))
    reconsume_times, prepared_offset, length = struct.unpack_from(">iqi", data, at)
    at += 16
    body, at = data[at : at + length], at + length
    wide_topic = head[1] == MAGIC_V2
    (length,) = struct.unpack_from(">h" if wide_topic else ">b", data, at)
    at += 2 if wide_topic else 1
    topic, at = data[at : at + length].decode(), at + length
    (length,) = struct.unpack_from(">h", data, at)
    properties = data[at + 2 : at + 2 + length].decode()
    size, magic, body_crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born = head
    return Record(
        size,
        magic,
        body_crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born,
        born_host,
        store_timestamp,
        store_host,
        reconsume_times,
        prepared_offset,
        body,
        topic,
        properties,
    )


def read_records(data: bytes) -> list[Record]:
    """Every record of a pull body."""
    found, at = [], 0
    while at < len(data):
        record = read_record(data, at)
        if record.size <= 0:
            raise ValueError(f"record of size {record.size} at {at}")
        found.append(record)
        at += record.size
    return found


def _read_host(data: bytes, at: int, is_v6: bool) -> tuple[str, int]:
    size = 16 if is_v6 else 4
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    (port,) = struct.unpack_from(">i", data, at + size)
    return f"{socket.inet_ntop(family, data[at : at + size])}:{port}", at + size + 4


def property_text(properties: Mapping[str, str]) -> str:
    """The wire form: key 0x01 value 0x02, repeated."""
    return "".join(f"{key}\x01{value}\x02" for key, value in properties.items())


def read_properties(text: str) -> dict[str, str]:
    """The properties of a record, in their order."""
    pairs = (entry.split("\x01", 1) for entry in text.split("\x02") if "\x01" in entry)
    return {key: value for key, value in pairs}


def batch_item(body: bytes, properties: Mapping[str, str], flag: int = 0) -> bytes:
    """One message of a SEND_BATCH_MESSAGE body."""
    block = property_text(properties).encode()
    size = 4 * 5 + len(body) + 2 + len(block)
    head = struct.pack(">iiiii", size, 0, 0, flag, len(body))
    return head + body + struct.pack(">h", len(block)) + block


def batch_body(items: Iterable[tuple[bytes, Mapping[str, str]]]) -> bytes:
    """A SEND_BATCH_MESSAGE body."""
    return b"".join(batch_item(body, properties) for body, properties in items)
