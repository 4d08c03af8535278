"""Answers about how far groups have read, and requests that move them."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue


class GroupList(Body, kw_only=True):
    """QUERY_TOPIC_CONSUME_BY_WHO."""

    group_list: set[str] = msgspec.field(default_factory=set)


class QuerySubscriptionResponseBody(Body, kw_only=True):
    """QUERY_SUBSCRIPTION_BY_CONSUMER."""

    group: str | None = None
    subscription_data: SubscriptionData | None = None
    topic: str | None = None


class ResetOffsetBody(Body, kw_only=True):
    """INVOKE_BROKER_TO_RESET_OFFSET, and what RESET_CONSUMER_CLIENT_OFFSET tells clients."""

    offset_table: dict[MessageQueue, Int64] = msgspec.field(default_factory=dict)


class MessageQueueForC(Body, kw_only=True):
    """A queue and its offset in one object: the C++ client cannot read objects as keys."""

    broker_name: str = ""
    offset: Int64 = 0
    queue_id: Int32 = 0
    topic: str = ""


class ResetOffsetBodyForC(Body, kw_only=True):
    """RESET_CONSUMER_CLIENT_OFFSET when a C++ tool asked for it."""

    offset_table: list[MessageQueueForC] = msgspec.field(default_factory=list)


class GetConsumerStatusBody(Body, kw_only=True):
    """INVOKE_BROKER_TO_GET_CONSUMER_STATUS: by client id. A client answers `message_queue_table`.

    Keys of tables that were read are the text of a MessageQueue.
    """

    consumer_table: dict[str, dict[MessageQueue, Int64]] = msgspec.field(default_factory=dict)
    message_queue_table: dict[str, Int64] = msgspec.field(default_factory=dict)


class QueueTimeSpan(Body, kw_only=True):
    """Store times in milliseconds since 1970 and as local time; `delay_time` is a duration."""

    consume_time_stamp: Int64 = 0
    consume_time_stamp_str: str | None = None
    delay_time: Int64 = 0
    max_time_stamp: Int64 = 0
    max_time_stamp_str: str | None = None
    message_queue: MessageQueue = MessageQueue()
    min_time_stamp: Int64 = 0
    min_time_stamp_str: str | None = None


class QueryConsumeTimeSpanBody(Body, kw_only=True):
    """QUERY_CONSUME_TIME_SPAN."""

    consume_time_span_set: list[QueueTimeSpan] = msgspec.field(default_factory=list)


class QueryCorrectionOffsetBody(Body, kw_only=True):
    """QUERY_CORRECTION_OFFSET: by queue id."""

    correction_offsets: dict[Int32, Int64] = msgspec.field(default_factory=dict)


class GroupForbidden(Body, kw_only=True):
    """UPDATE_AND_GET_GROUP_FORBIDDEN."""

    group: str | None = None
    readable: bool | None = None
    topic: str | None = None


class ConsumeQueueData(Body, kw_only=True):
    """One consume-queue entry."""

    bit_map: str | None = None
    eval: bool = False
    extend_data_json: str | None = None
    msg: str | None = None
    physic_offset: Int64 = 0
    physic_size: Int32 = 0
    tags_code: Int64 = 0


class QueryConsumeQueueResponseBody(Body, kw_only=True):
    """QUERY_CONSUME_QUEUE."""

    filter_data: str | None = None
    max_queue_index: Int64 = 0
    min_queue_index: Int64 = 0
    queue_data: list[ConsumeQueueData] | None = None
    subscription_data: SubscriptionData | None = None


class ProducerInfo(Body, kw_only=True):
    """One member of a producer group."""

    client_id: str | None = None
    language: str | None = None
    last_update_timestamp: Int64 = 0
    remote_ip: str | None = msgspec.field(name="remoteIP", default=None)
    version: Int32 = 0


class ProducerTableInfo(Body, kw_only=True):
    """GET_ALL_PRODUCER_INFO: by producer group."""

    data: dict[str, list[ProducerInfo]] = msgspec.field(default_factory=dict)


class OffsetWrapper(Body, kw_only=True):
    """Where a group stands in one queue."""

    broker_offset: Int64 = 0
    consumer_offset: Int64 = 0
    last_timestamp: Int64 = 0
    pull_offset: Int64 = 0


class ConsumeStats(Body, kw_only=True):
    """GET_CONSUME_STATS; also one topic of a group in GET_BROKER_CONSUME_STATS."""

    consume_tps: float = 0.0
    offset_table: dict[MessageQueue, OffsetWrapper] = msgspec.field(default_factory=dict)


class ConsumeStatsList(Body, kw_only=True):
    """GET_BROKER_CONSUME_STATS: one object per group, its topics in a list."""

    broker_addr: str | None = None
    consume_stats_list: list[dict[str, list[ConsumeStats]]] = msgspec.field(default_factory=list)
    total_diff: Int64 = 0
    total_inflight_diff: Int64 = 0


class BrokerStatsItem(Body, kw_only=True):
    """A counter over some time: its growth, growth per second, and per call."""

    avgpt: float = 0.0
    sum: Int64 = 0
    tps: float = 0.0


class BrokerStatsData(Body, kw_only=True):
    """VIEW_BROKER_STATS_DATA."""

    stats_day: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_minute: BrokerStatsItem | None = None
