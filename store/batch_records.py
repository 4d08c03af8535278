"""From the body of a batch send to the records of its messages, one behind the other.

A compiled build does ordinary batches in C (codec/_kernel.c): of what a batch costs, most is the
same few steps for every message in it. What is out of the ordinary is for the Python here, which
can do it all; tests hold the two against each other.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec import kernel
from trimq.codec.batch import split_batch
from trimq.codec.record import encode_record, record_size
from trimq.store.errors import StoreError
from trimq.store.message import Message
from trimq.store.record_limits import RecordLimits, closed_properties


class BatchRecords:
    """`data`: all records; `sizes` and `properties` are those of each."""

    __slots__ = ("data", "properties", "sizes")

    def __init__(self, data: bytes, sizes: list[int], properties: list[bytes]) -> None:
        self.data = data
        self.sizes = sizes
        self.properties = properties


def encode_batch(
    message: Message, queue_offset: int, position: int, now: int, limits: RecordLimits
) -> BatchRecords:
    """Records with queue offsets from `queue_offset` on, for the place `position` in the log.

    The message gives what they have in common, and the batch as its body; the items' properties
    are stored as sent. CodecError: the body is none; StoreError: a limit is passed.
    """
    if kernel.IN_C:
        try:
            found = kernel.encode_batch(
                message.body,
                message.topic.encode(),
                message.queue_id,
                queue_offset,
                position,
                message.sys_flag,
                message.born_timestamp,
                message.born_host,
                now,
                message.store_host,
                message.reconsume_times,
                limits.longest_body,
            )
        except OverflowError:
            # No record can hold it; the twin says what it is.
            found = None
        if found is not None:
            data, sizes, properties = found
            limits.check_batch(len(data))
            return BatchRecords(data, sizes, properties)
    return encode_in_python(message, queue_offset, position, now, limits)


def encode_in_python(
    message: Message, queue_offset: int, position: int, now: int, limits: RecordLimits
) -> BatchRecords:
    items = split_batch(message.body)
    if not items:
        raise StoreError("a batch without messages")
    topic = message.topic.encode()
    all_properties = [closed_properties(item.properties) for item in items]
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
