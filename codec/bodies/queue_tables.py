"""Answers as an administrator reads them: the keys of their tables are the JSON of queues."""

from typing import Any, TypeVar

import msgspec

from codec import fastjson
from codec.bodies.base import Body
from codec.bodies.locks import MessageQueue
from codec.bodies.progress import OffsetWrapper

V = TypeVar("V")


class TopicOffset(Body, kw_only=True):
    """One queue: its first offset, its next one, when it was last written to (milliseconds, or 0)."""

    last_update_timestamp: int = 0
    max_offset: int = 0
    min_offset: int = 0


class TopicStatsTable(Body, kw_only=True):
    """GET_TOPIC_STATS_INFO; keys are the JSON of a MessageQueue."""

    offset_table: dict[str, TopicOffset] = msgspec.field(default_factory=dict)
    topic_put_tps: float = 0.0


class ConsumeStatsTable(Body, kw_only=True):
    """GET_CONSUME_STATS (ConsumeStats); keys are the JSON of a MessageQueue."""

    consume_tps: float = 0.0
    offset_table: dict[str, OffsetWrapper] = msgspec.field(default_factory=dict)


class ConsumerRunningInfo(Body, kw_only=True):
    """GET_CONSUMER_RUNNING_INFO: what a consumer says of itself; keys are the JSON of queues."""

    mq_table: dict[str, Any] = msgspec.field(default_factory=dict)
    properties: dict[str, str] = msgspec.field(default_factory=dict)


class ConsumeMessageDirectlyResult(Body, kw_only=True):
    """CONSUME_MESSAGE_DIRECTLY: what a consumer made of one message (a CMResult), in how many ms."""

    auto_commit: bool = True
    consume_result: str | None = None
    order: bool = False
    remark: str | None = None
    spent_time_mills: int = 0


def by_queue(table: dict[str, V]) -> dict[MessageQueue, V]:
    """A table whose keys are the JSON of queues; CodecError when one is not."""
    return {fastjson.loads_as(MessageQueue, key): value for key, value in table.items()}
