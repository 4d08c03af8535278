"""A message as an administrator sees it: a record with its properties and body unpacked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from trimq.codec.flags import SysFlag
from trimq.codec.records import property_keys
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.batch import split_batch
from trimq.codec.records.compression import unpack_body
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import BLANK_SIZE, MAGIC_BLANK, Record, parse_record, peek

_WRAPPED: Final = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP


@dataclass(slots=True)
class Message:
    """One stored message (MessageExt). Times in milliseconds, hosts as HOST:PORT, body unpacked.

    `sys_flag` says nothing of how the body was packed, as with the official client. `offset_id` is empty for one
    that shares its record with others.
    """

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    store_size: int
    flag: int
    sys_flag: int
    body_crc: int
    reconsume_times: int
    prepared_transaction_offset: int
    born_timestamp: int
    born_host: str
    store_timestamp: int
    store_host: str
    offset_id: str
    properties: dict[str, str]
    body: bytes
    broker_name: str | None = None

    @property
    def message_id(self) -> str:
        """The producer's unique id, or where there is none the offset id (MessageClientExt)."""
        return self.properties.get(property_keys.UNIQ_KEY) or self.offset_id

    @property
    def tags(self) -> str | None:
        return self.properties.get(property_keys.TAGS)

    @property
    def keys(self) -> str | None:
        """Keys, separated by blanks."""
        return self.properties.get(property_keys.KEYS)


def read_messages(data: bytes) -> Iterator[Message]:
    """The messages of an answer, one record after another; CodecError where one is broken."""
    at = 0
    while at < len(data):
        record = parse_record(data, at)
        at += record.total_size
        flag = record.sys_flag
        yield _message(record, flag & ~SysFlag.COMPRESSED if record.body else flag)


def unwrapped(message: Message) -> list[Message]:
    """The messages of a packed record; itself if it is one (MessageDecoder.decodeMessage).

    CodecError when its body is no batch.
    """
    if message.sys_flag & _WRAPPED != _WRAPPED:
        return [message]
    return [
        replace(
            message,
            queue_offset=message.queue_offset + number,
            store_size=0,
            flag=item.flag,
            body_crc=0,
            reconsume_times=0,
            prepared_transaction_offset=0,
            offset_id="",
            properties=parse_properties(item.properties),
            body=item.body,
        )
        for number, item in enumerate(split_batch(message.body))
    ]


def read_log(data: bytes | memoryview) -> Iterator[Message]:
    """The messages of a log's file, up to the zeros or the blank after the last one, their flags as stored.

    CodecError where a record is broken.
    """
    at = 0
    while at + BLANK_SIZE <= len(data):
        size, magic = peek(data, at)
        if size == 0 or magic == MAGIC_BLANK:
            return
        record = parse_record(data, at)
        at += record.total_size
        yield _message(record, record.sys_flag)


def _message(record: Record, sys_flag: int) -> Message:
    return Message(
        topic=record.topic,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        physical_offset=record.physical_offset,
        store_size=record.total_size,
        flag=record.flag,
        sys_flag=sys_flag,
        body_crc=record.body_crc,
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
        born_timestamp=record.born_timestamp,
        born_host=unpack_host(record.born_host),
        store_timestamp=record.store_timestamp,
        store_host=unpack_host(record.store_host),
        offset_id=offset_message_id(record.store_host, record.physical_offset),
        properties=parse_properties(record.properties),
        body=unpack_body(record.body, record.sys_flag),
    )
