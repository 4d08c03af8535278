"""A stored message as a client gets it (GrpcConverter), and what it was popped with (processPopResponse)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from trimq.base.clock import Clock
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.codec.pop.handle import Handle, format_handle, retry_version
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.proxy import properties as names
from trimq.proxy.outgoing import message_type_of
from trimq.proxy.protos.definition_pb2 import (
    DigestType,
    Encoding,
    Message,
    MessageType,
    Resource,
)

_TYPES: Final = {
    "NORMAL": MessageType.NORMAL,
    "FIFO": MessageType.FIFO,
    "DELAY": MessageType.DELAY,
    "TRANSACTION": MessageType.TRANSACTION,
    "PRIORITY": MessageType.PRIORITY,
    "LITE": MessageType.LITE,
}


@dataclass(slots=True)
class Popped:
    """One message of an answer. `handle`: to acknowledge it with; `attempts`: how often it was consumed before."""

    record: Record
    properties: dict[str, str]
    handle: str
    attempts: int
    topic: str

    @property
    def message_id(self) -> str:
        """The client's own, or where the message lies."""
        found = self.properties.get(names.UNIQUE_KEY)
        return found or offset_message_id(self.record.store_host, self.record.physical_offset)


def records_of(body: bytes) -> list[Record]:
    """CodecError when the body is not made of records."""
    records: list[Record] = []
    at = 0
    while at < len(body):
        record = parse_record(body, at)
        records.append(record)
        at += record.total_size
    return records


def popped_of(
    body: bytes, header: PopMessageResponseHeader, topic: str, broker_name: str, is_ordered: bool
) -> list[Popped]:
    """What a POP_MESSAGE brought; CodecError when header and records do not fit."""
    starts = _segments(header.start_offset_info)
    counts = _segments(header.order_count_info) if is_ordered else {}
    found: list[Popped] = []
    for record in records_of(body):
        properties = parse_properties(record.properties)
        version = retry_version(record.topic)
        queue = f"{version} {record.queue_id}"
        handle = properties.get(names.POP_CK)
        attempts = record.reconsume_times
        if handle is None:
            start = int(starts.get(queue, record.queue_offset))
            made = Handle(
                start,
                header.pop_time,
                header.invisible_time,
                header.revive_qid,
                version,
                broker_name,
            )
            handle = format_handle(made, record.queue_id, record.queue_offset)
            count = counts.get(f"{version} qo{record.queue_id}%{record.queue_offset}")
            count = counts.get(queue) if count is None else count
            if count is not None and int(count) > 0:
                attempts = int(count)
        properties.setdefault(names.FIRST_POP, str(header.pop_time))
        handle = f"{handle} {record.physical_offset}"
        properties[names.POP_CK] = handle
        found.append(Popped(record, properties, handle, attempts, topic))
    return found


def _segments(text: str | None) -> dict[str, str]:
    """`0 3 17;1 0 5` by topic kind and queue."""
    segments: dict[str, str] = {}
    for segment in (text or "").split(";"):
        if segment:
            key, _, value = segment.rpartition(" ")
            if not value.removeprefix("-").isdecimal():
                raise CodecError(f"not a place in a queue: {segment[:60]!r}")
            segments[key] = value
    return segments


def message_of(popped: Popped, clock: Clock) -> Message:
    """What the client is handed."""
    record, properties = popped.record, popped.properties
    message = Message(topic=_resource(popped.topic), body=record.body)
    for key, value in properties.items():
        if key not in names.RESERVED:
            message.user_properties[key] = value
    system = message.system_properties
    if names.TAGS in properties:
        system.tag = properties[names.TAGS]
    if names.KEYS in properties:
        system.keys.extend(_split(properties[names.KEYS]))
    system.message_id = popped.message_id
    system.body_digest.type = DigestType.MD5
    system.body_digest.checksum = (
        hashlib.md5(record.body, usedforsecurity=False).hexdigest().upper()
    )
    packed = record.sys_flag & SysFlag.COMPRESSED
    system.body_encoding = Encoding.GZIP if packed else Encoding.IDENTITY
    system.message_type = _TYPES[message_type_of(properties)]
    system.born_timestamp.FromMilliseconds(record.born_timestamp)
    born_host = properties.get(names.BORN_HOST, "")
    if not born_host or born_host.isspace():
        born_host = unpack_host(record.born_host).rpartition(":")[0].strip("[]")
    system.born_host = born_host
    system.store_timestamp.FromMilliseconds(record.store_timestamp)
    system.store_host = unpack_host(record.store_host)
    if names.TIMER_DELAY_SEC in properties:
        system.delivery_timestamp.FromMilliseconds(
            clock.millis() + int(properties[names.TIMER_DELAY_SEC]) * 1000
        )
    elif names.TIMER_DELIVER_MS in properties:
        system.delivery_timestamp.FromMilliseconds(int(properties[names.TIMER_DELIVER_MS]))
    if names.PRIORITY in properties:
        system.priority = int(properties[names.PRIORITY])
    if names.MESSAGE_GROUP in properties:
        system.message_group = properties[names.MESSAGE_GROUP]
    if names.LITE_TOPIC in properties:
        system.lite_topic = properties[names.LITE_TOPIC]
    if popped.handle:
        system.receipt_handle = popped.handle
    system.queue_id = record.queue_id
    system.queue_offset = record.queue_offset
    system.delivery_attempt = popped.attempts + 1
    if names.TRACE_CONTEXT in properties:
        system.trace_context = properties[names.TRACE_CONTEXT]
    if names.DLQ_TOPIC in properties and names.DLQ_MESSAGE_ID in properties:
        system.dead_letter_queue.topic = properties[names.DLQ_TOPIC]
        system.dead_letter_queue.message_id = properties[names.DLQ_MESSAGE_ID]
    return message


def _resource(name: str) -> Resource:
    """`instance%topic`: a namespace and a name in it (NamespaceUtil)."""
    namespace, separator, rest = name.partition("%")
    return Resource(resource_namespace=namespace, name=rest) if separator else Resource(name=name)


def _split(keys: str) -> list[str]:
    """As Java's split: without empty ones at the end."""
    found = keys.split(" ")
    while found and not found[-1]:
        found.pop()
    return found
