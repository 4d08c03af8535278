"""Answers about many queues as columns. A regular expression reads what brokers write, without an object
per queue; anything that looks different goes through the bodies of `codec`, which read all of FastJSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.queue_tables import ConsumeStatsTable, TopicStatsTable, by_queue

_QUEUE: Final = rb'\{"brokerName":"[^"\\]*","queueId":(\d+),"topic":"([^"\\]*)"\}:'
_CONSUMED: Final = re.compile(
    _QUEUE + rb'\{"brokerOffset":(-?\d+),"consumerOffset":(-?\d+)'
    rb',"lastTimestamp":(-?\d+),"pullOffset":(-?\d+)\}'
)
_ENDS: Final = re.compile(
    _QUEUE + rb'\{"lastUpdateTimestamp":-?\d+,"maxOffset":(-?\d+),"minOffset":(-?\d+)\}'
)
# Bytes of a queue's id and topic, as they come.
QueueName = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Consumed:
    """Where a group stands: columns of the same length, and the queues' names as bytes."""

    names: list[QueueName]
    queue_id: pa.Array
    topic: pa.Array
    maximum: pa.Array
    committed: pa.Array
    last_read: pa.Array
    pulled: pa.Array


def consumed(body: bytes) -> Consumed | None:
    """An answer to GET_CONSUME_STATS; None when the group has no offsets. CodecError if broken."""
    rows: list[tuple[Any, ...]] = _CONSUMED.findall(body)
    if len(rows) != body.count(b'"consumerOffset":'):
        rows = [
            (
                str(queue.queue_id).encode(),
                queue.topic.encode(),
                *(one.broker_offset, one.consumer_offset, one.last_timestamp, one.pull_offset),
            )
            for queue, one in by_queue(decode_body(ConsumeStatsTable, body).offset_table).items()
        ]
    if not rows:
        return None
    ids, topics, *offsets = zip(*rows, strict=True)
    maximum, committed, last_read, pulled = (_numbers(column) for column in offsets)
    return Consumed(
        names=list(zip(ids, topics, strict=True)),
        queue_id=_numbers(ids),
        topic=pa.array(topics, pa.binary()).cast(pa.string()),
        maximum=maximum,
        committed=committed,
        last_read=last_read,
        pulled=pulled,
    )


def ends(body: bytes) -> dict[QueueName, tuple[int, int]]:
    """An answer to GET_TOPIC_STATS_INFO: each queue's first offset and its next one."""
    rows: list[tuple[Any, ...]] = _ENDS.findall(body)
    if len(rows) == body.count(b'"maxOffset":'):
        return {(row[0], row[1]): (int(row[3]), int(row[2])) for row in rows}
    found = by_queue(decode_body(TopicStatsTable, body).offset_table)
    return {
        (str(queue.queue_id).encode(), queue.topic.encode()): (end.min_offset, end.max_offset)
        for queue, end in found.items()
    }


def _numbers(column: Any) -> pa.Array:
    if isinstance(column[0], int):
        return pa.array(column, pa.int64())
    return pa.array(column, pa.binary()).cast(pa.string()).cast(pa.int64())
