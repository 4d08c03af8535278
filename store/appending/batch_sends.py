"""From the body of a batch send to the records of its messages, one after another.

Ordinary batches are codec.native's: of what a batch costs, most is the same few steps for every message
in it. Unusual batches are handled here, where the error can say what is wrong.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec import native
from trimq.codec.native import encode_record
from trimq.codec.records.batch import split_batch
from trimq.codec.records.multi_dispatch import OFFSETS_MARK, without_offsets
from trimq.codec.records.record import record_size
from trimq.store.appending.record_limits import RecordLimits, closed_properties
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message


class BatchRecords:
    """`data`: all records; `sizes` and `properties` are those of each."""

    __slots__ = ("data", "properties", "sizes")

    def __init__(self, data: bytes, sizes: list[int], properties: list[bytes]) -> None:
        self.data = data
        self.sizes = sizes
        self.properties = properties


def encode_batch(
    message: Message,
    queue_offset: int,
    position: int,
    now: int,
    limits: RecordLimits,
    has_light: bool = False,
) -> BatchRecords:
    """Records with queue offsets from `queue_offset` on, for the position `position` in the log.

    The message gives what they have in common, and the batch as its body; the items' properties
    are stored as sent. `has_light`: except for offsets in light queues, which the messages of a batch do not get.
    CodecError: the body is not a batch; StoreError: a limit is exceeded.
    """
    if has_light and OFFSETS_MARK in message.body:
        return encode_unusual(message, queue_offset, position, now, limits, True)
    found = native.encode_batch(message, queue_offset, position, now, limits.longest_body)
    if found is None:
        return encode_unusual(message, queue_offset, position, now, limits)
    data, sizes, properties = found
    limits.check_batch(len(data))
    return BatchRecords(data, sizes, properties)


def encode_unusual(
    message: Message,
    queue_offset: int,
    position: int,
    now: int,
    limits: RecordLimits,
    has_light: bool = False,
) -> BatchRecords:
    """The same for any batch: this says what is wrong with one, and stores what looks like a torn record."""
    items = split_batch(message.body)
    if not items:
        raise StoreError("a batch without messages")
    topic = message.topic.encode()
    all_properties = [
        closed_properties(without_offsets(item.properties) if has_light else item.properties)
        for item in items
    ]
    total = 0
    for item, properties in zip(items, all_properties, strict=True):
        size = record_size(len(item.body), len(topic), len(properties), message.sys_flag)
        limits.check(item.body, properties, size)
        total += size
    limits.check_batch(total)
    records: list[bytes] = []
    for index, item in enumerate(items):
        record = encode_record(
            topic,
            message.queue_id,
            item.flag,
            queue_offset + index,
            position,
            message.sys_flag,
            message.born_timestamp,
            message.born_host,
            now,
            message.store_host,
            message.reconsume_times,
            0,
            item.body,
            all_properties[index],
        )
        records.append(record)
        position += len(record)
    return BatchRecords(b"".join(records), [len(record) for record in records], all_properties)
