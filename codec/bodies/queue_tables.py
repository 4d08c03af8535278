"""Answers as an administrator reads them: the keys of their tables are the JSON of queues."""

from typing import Any, TypeVar

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.enums import ConsumeResult
from trimq.codec.java import fastjson

V = TypeVar("V")


class TopicOffset(Body, kw_only=True):
    """One queue: its first offset, its next one, when it was last written to (milliseconds, or 0)."""

    last_update_timestamp: Int64 = 0
    max_offset: Int64 = 0
    min_offset: Int64 = 0


class TopicStatsTable(Body, kw_only=True):
    """GET_TOPIC_STATS_INFO; keys are the JSON of a MessageQueue."""

    offset_table: dict[str, TopicOffset] = msgspec.field(default_factory=dict)
    topic_put_tps: float = 0.0


class ConsumeStatsTable(Body, kw_only=True):
    """GET_CONSUME_STATS (ConsumeStats); keys are the JSON of a MessageQueue."""

    consume_tps: float = 0.0
    offset_table: dict[str, OffsetWrapper] = msgspec.field(default_factory=dict)


class BrokerConsumeStatsTable(Body, kw_only=True):
    """GET_BROKER_CONSUME_STATS (ConsumeStatsList): one object per group, its topics in a list."""

    broker_addr: str | None = None
    consume_stats_list: list[dict[str, list[ConsumeStatsTable]]] = msgspec.field(
        default_factory=list
    )
    total_diff: Int64 = 0
    total_inflight_diff: Int64 = 0


class ResetOffsetTable(Body, kw_only=True):
    """INVOKE_BROKER_TO_RESET_OFFSET (ResetOffsetBody); keys are the JSON of a MessageQueue."""

    offset_table: dict[str, Int64] = msgspec.field(default_factory=dict)


class ProcessQueueInfo(Body, kw_only=True):
    """What a push consumer holds from one queue; times are milliseconds since 1970."""

    cached_msg_count: Int32 = 0
    cached_msg_max_offset: Int64 = 0
    cached_msg_min_offset: Int64 = 0
    cached_msg_size_in_mib: Int32 = msgspec.field(name="cachedMsgSizeInMiB", default=0)
    commit_offset: Int64 = 0
    droped: bool = False
    last_consume_timestamp: Int64 = 0
    last_lock_timestamp: Int64 = 0
    last_pull_timestamp: Int64 = 0
    locked: bool = False
    transaction_msg_count: Int32 = 0
    transaction_msg_max_offset: Int64 = 0
    transaction_msg_min_offset: Int64 = 0
    try_unlock_times: Int64 = 0


class PopProcessQueueInfo(Body, kw_only=True):
    """What a popping consumer holds from one queue."""

    droped: bool = False
    last_pop_timestamp: Int64 = 0
    wait_ack_count: Int32 = 0


class ConsumeStatus(Body, kw_only=True):
    """A consumer's pace with one topic: milliseconds, and messages a second."""

    consume_failed_msgs: Int64 = 0
    consume_failed_tps: float = msgspec.field(name="consumeFailedTPS", default=0.0)
    consume_ok_tps: float = msgspec.field(name="consumeOKTPS", default=0.0)
    consume_rt: float = msgspec.field(name="consumeRT", default=0.0)
    pull_rt: float = msgspec.field(name="pullRT", default=0.0)
    pull_tps: float = msgspec.field(name="pullTPS", default=0.0)


class ConsumerRunningInfo(Body, kw_only=True):
    """GET_CONSUMER_RUNNING_INFO: what a consumer says about itself; queues as keys are their JSON."""

    jstack: str | None = None
    mq_pop_table: dict[str, PopProcessQueueInfo] = msgspec.field(default_factory=dict)
    mq_table: dict[str, ProcessQueueInfo] = msgspec.field(default_factory=dict)
    properties: dict[str, Any] = msgspec.field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = msgspec.field(default_factory=dict)
    subscription_set: list[SubscriptionData] = msgspec.field(default_factory=list)
    user_consumer_info: dict[str, str] | None = msgspec.field(default_factory=dict)


class ConsumeMessageDirectlyResult(Body, kw_only=True):
    """CONSUME_MESSAGE_DIRECTLY: what a consumer did with one message (a CMResult), in how many ms."""

    auto_commit: bool = True
    consume_result: ConsumeResult | None = None
    order: bool = False
    remark: str | None = None
    spent_time_mills: Int64 = 0


def by_queue(table: dict[str, V]) -> dict[MessageQueue, V]:
    """A table whose keys are the JSON of queues; CodecError when one is not."""
    return {fastjson.loads_as(MessageQueue, key): value for key, value in table.items()}
