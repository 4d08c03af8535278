"""Lite topics: many small topics in one, each with its own queue (5.5.0). Subscriptions, and answers about them."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.bodies.queue_tables import TopicOffset
from trimq.codec.enums import LiteSubscriptionAction, OffsetOptionType


class OffsetOption(Body, kw_only=True):
    """Where a group begins in lite topics that a client subscribes to (OffsetOption)."""

    type: OffsetOptionType | None = None
    value: Int64 = 0


class LiteSubscriptionDTO(Body, kw_only=True):
    """What one client wants."""

    action: LiteSubscriptionAction | None = None
    client_id: str | None = None
    group: str | None = None
    lite_topic_set: list[str | None] | None = None
    offset_option: OffsetOption | None = None
    topic: str | None = None
    version: Int64 = 0


class LiteSubscriptionCtlRequestBody(Body, kw_only=True):
    """LITE_SUBSCRIPTION_CTL."""

    subscription_set: list[LiteSubscriptionDTO] | None = None


class GetBrokerLiteInfoResponseBody(Body, kw_only=True):
    """GET_BROKER_LITE_INFO: sizes of tables; lite topics' lifetimes in minutes, groups by topic."""

    cq_table_size: Int32 = 0
    current_lmq_num: Int32 = 0
    event_map_size: Int32 = 0
    group_meta: dict[str, list[str]] | None = None
    lite_subscription_count: Int32 = 0
    max_lmq_num: Int32 = 0
    offset_table_size: Int32 = 0
    order_info_count: Int32 = 0
    store_type: str | None = None
    topic_meta: dict[str, Int32] | None = None


class GetParentTopicInfoResponseBody(Body, kw_only=True):
    """GET_PARENT_TOPIC_INFO; `ttl` in minutes, -1: no end."""

    groups: list[str] | None = None
    lite_topic_count: Int32 = 0
    lmq_num: Int32 = 0
    topic: str | None = None
    ttl: Int32 = 0


class ClientGroup(Body, kw_only=True):
    """One subscriber of a lite topic."""

    client_id: str | None = None
    group: str | None = None


class GetLiteTopicInfoResponseBody(Body, kw_only=True):
    """GET_LITE_TOPIC_INFO; `sharding_to_broker`: whether this broker is the one for that topic."""

    lite_topic: str | None = None
    parent_topic: str | None = None
    sharding_to_broker: bool = False
    subscriber: list[ClientGroup] | None = None
    topic_offset: TopicOffset = msgspec.field(default_factory=TopicOffset)


class GetLiteClientInfoResponseBody(Body, kw_only=True):
    """GET_LITE_CLIENT_INFO; times in milliseconds, -1 for a client that is not known."""

    client_id: str | None = None
    group: str | None = None
    last_access_time: Int64 = 0
    last_consume_time: Int64 = 0
    lite_topic_count: Int32 = 0
    lite_topic_set: list[str] | None = None
    parent_topic: str | None = None


class LiteLagInfo(Body, kw_only=True):
    """How far a group is behind in one lite topic."""

    earliest_unconsumed_timestamp: Int64 = 0
    lag_count: Int64 = 0
    lite_topic: str | None = None


class GetLiteGroupInfoResponseBody(Body, kw_only=True):
    """GET_LITE_GROUP_INFO: of one lite topic, or those that are furthest behind."""

    earliest_unconsumed_timestamp: Int64 = -1
    group: str | None = None
    lag_count_top_k: list[LiteLagInfo] | None = msgspec.field(name="lagCountTopK", default=None)
    lag_timestamp_top_k: list[LiteLagInfo] | None = msgspec.field(
        name="lagTimestampTopK", default=None
    )
    lite_topic: str | None = None
    lite_topic_offset_wrapper: OffsetWrapper | None = None
    parent_topic: str | None = None
    total_lag_count: Int64 = 0
