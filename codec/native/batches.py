"""What a batch send costs per message: the records of its items, and their ids. `_batches.c` is its twin."""

import struct
from typing import Protocol

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import split_batch
from trimq.codec.records.record import LONGEST_V1_TOPIC, encode_record

# From this many zero bytes on, properties may look like a torn record.
_SECTOR = 512
_MOST = (1 << 63) - 1


class BatchSend(Protocol):
    """What the records of a batch share; the body is the batch."""

    @property
    def body(self) -> bytes: ...
    @property
    def topic(self) -> str: ...
    @property
    def born_host(self) -> bytes: ...
    @property
    def store_host(self) -> bytes: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def sys_flag(self) -> int: ...
    @property
    def born_timestamp(self) -> int: ...
    @property
    def reconsume_times(self) -> int: ...


def encode_batch(
    send: BatchSend, queue_offset: int, position: int, store_timestamp: int, longest_body: int, /
) -> tuple[bytes, list[int], list[bytes]] | None:
    """The records of a batch's items one after another, their sizes, their properties.

    They have queue offsets from `queue_offset` on, and lie in the log from `position` on. None:
    something about it is unusual, and the caller has to handle it.
    """
    topic = send.topic.encode()
    if len(topic) > LONGEST_V1_TOPIC or not _has_hosts(send):
        return None
    records: list[bytes] = []
    blocks: list[bytes] = []
    try:
        for item in split_batch(send.body):
            properties = item.properties
            if len(item.body) > longest_body or len(properties) >= _SECTOR:
                return None
            if properties.endswith(b"\0"):
                return None
            record = encode_record(
                topic,
                send.queue_id,
                item.flag,
                queue_offset,
                position,
                send.sys_flag,
                send.born_timestamp,
                send.born_host,
                store_timestamp,
                send.store_host,
                send.reconsume_times,
                0,
                item.body,
                properties,
            )
            records.append(record)
            blocks.append(properties)
            queue_offset += 1
            position += len(record)
    except (CodecError, struct.error):
        return None
    if not records or position > _MOST or queue_offset > _MOST:
        return None
    return b"".join(records), [len(record) for record in records], blocks


def _has_hosts(send: BatchSend) -> bool:
    """Whether they are as long as the flags say."""
    flag = send.sys_flag
    return len(send.born_host) == (20 if flag & SysFlag.BORN_HOST_V6 else 8) and len(
        send.store_host
    ) == (20 if flag & SysFlag.STORE_HOST_V6 else 8)


def message_ids(start: str, position: int, sizes: list[int], /) -> str:
    """The ids of consecutive records from `position` on, joined by commas.

    `start` is the store host's part of each. ValueError: that is not ASCII, or no record can be
    there.
    """
    if not start.isascii() or position < 0:
        raise ValueError("an id begins with ASCII text, and its position is not negative")
    ids: list[str] = []
    for size in sizes:
        if size < 0 or position > _MOST - size:
            raise ValueError("no record has such a size at its position")
        ids.append(f"{start}{position:016X}")
        position += size
    return ",".join(ids)
