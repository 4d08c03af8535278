"""Offset tables, on the wire and in `config/`."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.topics import DataVersion


class ConsumerOffsetSerializeWrapper(Body, kw_only=True):
    """`consumerOffset.json`: `topic@group` to offsets by queue id.

    Only `offset_table` is needed when reading; RocketMQ writes `group_topic_map`, too, and up to 5.5.0
    `pull_offset_table`. `trimq_log_end` is our own: the
    physical offset up to which the records of the log count in it.
    """

    data_version: DataVersion | None = None
    group_topic_map: dict[str, list[str]] | None = None
    offset_table: dict[str, dict[Int32, Int64]] = msgspec.field(default_factory=dict)
    pull_offset_table: dict[str, dict[Int32, Int64]] | None = None
    trimq_log_end: Int64 | None = None


class LmqConsumerOffsetSerializeWrapper(ConsumerOffsetSerializeWrapper, kw_only=True):
    """`lmqConsumerOffset.json`: the same, and `topic@group` to one offset for groups named `%LMQ%...`."""

    lmq_offset_table: dict[str, Int64] | None = None


class DelayOffsetSerializeWrapper(Body, kw_only=True):
    """`delayOffset.json`: progress by delay level."""

    data_version: DataVersion | None = None
    offset_table: dict[Int32, Int64] = msgspec.field(default_factory=dict)
