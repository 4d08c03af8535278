"""A stored message as a client gets it (GrpcConverter).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from trimq.base.clock import Clock
from trimq.codec.flags import SysFlag
from trimq.codec.java.numbers import parse_int, parse_long
from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.record import Record, parse_record
from trimq.proxy import properties as names
from trimq.proxy.outgoing import message_type_of
from trimq.proxy.protos.definition_pb2 import (
    DigestType,
    Encoding,
    Message,
    MessageType,
    Resource,
    SystemProperties,
)

_TYPES: Final = {
    "NORMAL": MessageType.NORMAL,
    "FIFO": MessageType.FIFO,
    "DELAY": MessageType.DELAY,
    "TRANSACTION": MessageType.TRANSACTION,
    "PRIORITY": MessageType.PRIORITY,
    "LITE": MessageType.LITE,
}
# protobuf's time goes from the year 1 to 9999.
_FIRST: Final = -62_135_596_800_000
_LAST: Final = 253_402_300_799_999


@dataclass(slots=True)
class Popped:
    """One message of an answer. `handle`: to acknowledge it with; `attempts`: how often it was consumed before.

    `lite_offset`: where it lies in its lite topic, if it does.
    """

    record: Record
    properties: dict[str, str]
    handle: str
    attempts: int
    topic: str
    lite_offset: int | None = None

    @property
    def message_id(self) -> str:
        """The client's own, or where the message lies."""
        found = self.properties.get(names.UNIQUE_KEY)
        if found and not found.isspace():
            return found
        return offset_message_id(self.record.store_host, self.record.physical_offset)


def records_of(body: bytes) -> list[Record]:
    """CodecError when the body is not made of records."""
    records: list[Record] = []
    at = 0
    while at < len(body):
        record = parse_record(body, at)
        records.append(record)
        at += record.total_size
    return records


def message_of(popped: Popped, clock: Clock) -> Message:
    """What the client is handed."""
    message = Message(topic=_resource(popped.topic), body=popped.record.body)
    for key, value in popped.properties.items():
        if key not in names.RESERVED:
            message.user_properties[key] = value
    system = message.system_properties
    _add_names(system, popped)
    _add_body(system, popped.record)
    _add_origin(system, popped)
    _add_kind(system, popped.properties, clock)
    _add_place(system, popped)
    return message


def _add_names(system: SystemProperties, popped: Popped) -> None:
    properties = popped.properties
    if names.TAGS in properties:
        system.tag = properties[names.TAGS]
    if names.KEYS in properties:
        system.keys.extend(_split(properties[names.KEYS]))
    system.message_id = popped.message_id
    if names.TRACE_CONTEXT in properties:
        system.trace_context = properties[names.TRACE_CONTEXT]
    if names.DLQ_TOPIC in properties and names.DLQ_MESSAGE_ID in properties:
        system.dead_letter_queue.topic = properties[names.DLQ_TOPIC]
        system.dead_letter_queue.message_id = properties[names.DLQ_MESSAGE_ID]


def _add_body(system: SystemProperties, record: Record) -> None:
    system.body_digest.type = DigestType.MD5
    digest = hashlib.md5(record.body, usedforsecurity=False).hexdigest().upper()
    system.body_digest.checksum = digest
    packed = record.sys_flag & SysFlag.COMPRESSED
    system.body_encoding = Encoding.GZIP if packed else Encoding.IDENTITY


def _add_origin(system: SystemProperties, popped: Popped) -> None:
    """Who made and who stored it, and when."""
    record = popped.record
    _set_time(system.born_timestamp, record.born_timestamp)
    born_host = popped.properties.get(names.BORN_HOST, "")
    if not born_host or born_host.isspace():
        born_host = unpack_host(record.born_host).rpartition(":")[0].strip("[]")
    system.born_host = born_host
    _set_time(system.store_timestamp, record.store_timestamp)
    system.store_host = unpack_host(record.store_host)


def _add_kind(system: SystemProperties, properties: dict[str, str], clock: Clock) -> None:
    system.message_type = _TYPES[message_type_of(properties)]
    delay = parse_long(properties.get(names.TIMER_DELAY_SEC, ""))
    deliver = parse_long(properties.get(names.TIMER_DELIVER_MS, ""))
    if delay is not None:
        _set_time(system.delivery_timestamp, clock.millis() + delay * 1000)
    elif deliver is not None:
        _set_time(system.delivery_timestamp, deliver)
    priority = parse_int(properties.get(names.PRIORITY, ""))
    if priority is not None and priority >= 0:
        system.priority = priority
    if names.MESSAGE_GROUP in properties:
        system.message_group = properties[names.MESSAGE_GROUP]
    if names.LITE_TOPIC in properties:
        system.lite_topic = properties[names.LITE_TOPIC]


def _add_place(system: SystemProperties, popped: Popped) -> None:
    record = popped.record
    if popped.handle:
        system.receipt_handle = popped.handle
    system.queue_id = record.queue_id
    lite = popped.lite_offset
    system.queue_offset = record.queue_offset if lite is None else lite
    system.delivery_attempt = popped.attempts + 1


def _set_time(field: Timestamp, millis: int) -> None:
    """A time that protobuf cannot say, which any producer may write, is left out; the message is not."""
    if _FIRST <= millis <= _LAST:
        field.FromMilliseconds(millis)


def _resource(name: str) -> Resource:
    """`instance%topic`: a namespace and a name in it (NamespaceUtil); a prefix of the broker's stays with the name."""
    prefix = next((one for one in (RETRY_PREFIX, DLQ_PREFIX) if name.startswith(one)), "")
    namespace, separator, rest = name[len(prefix) :].partition("%")
    if not separator or not namespace:
        return Resource(name=name)
    return Resource(resource_namespace=namespace, name=prefix + rest)


def _split(keys: str) -> list[str]:
    """As Java's split: without empty ones at the end."""
    found = keys.split(" ")
    while found and not found[-1]:
        found.pop()
    return found
