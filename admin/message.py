"""A message as an administrator sees it: a record with its properties and body unpacked."""

from collections.abc import Iterator
from dataclasses import dataclass

from trimq.codec import property_keys
from trimq.codec.addresses import unpack_host
from trimq.codec.compression import unpack_body
from trimq.codec.message_id import offset_message_id
from trimq.codec.properties import parse_properties
from trimq.codec.record import BLANK_SIZE, MAGIC_BLANK, Record, parse_record, peek


@dataclass(slots=True)
class Message:
    """One stored message (MessageExt). Times in milliseconds, hosts as HOST:PORT, body unpacked."""

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
    """The messages of an answer, one record behind the other; CodecError where one is broken."""
    at = 0
    while at < len(data):
        record = parse_record(data, at)
        at += record.total_size
        yield _message(record)


def read_log(data: bytes | memoryview) -> Iterator[Message]:
    """The messages of a log's file, up to the zeros or the blank behind the last one.

    CodecError where a record is broken.
    """
    at = 0
    while at + BLANK_SIZE <= len(data):
        size, magic = peek(data, at)
        if size == 0 or magic == MAGIC_BLANK:
            return
        record = parse_record(data, at)
        at += record.total_size
        yield _message(record)


def _message(record: Record) -> Message:
    return Message(
        topic=record.topic,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        physical_offset=record.physical_offset,
        store_size=record.total_size,
        flag=record.flag,
        sys_flag=record.sys_flag,
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
