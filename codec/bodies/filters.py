"""Filters of consumer groups, as consumerFilter.json has them (ConsumerFilterManager)."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64


class BloomFilterData(Body, kw_only=True):
    """A group's bits in the maps of a topic's messages."""

    bit_num: Int32 = 0
    bit_pos: list[Int32] | None = None


class ConsumerFilterData(Body, kw_only=True):
    """What a group wants of a topic; times in milliseconds since 1970. `dead` is for readers only."""

    bloom_filter_data: BloomFilterData | None = None
    born_time: Int64 = 0
    client_version: Int64 = 0
    consumer_group: str = ""
    dead: bool = False
    dead_time: Int64 = 0
    expression: str | None = None
    expression_type: str | None = None
    topic: str = ""


class FilterDataMapByTopic(Body, kw_only=True):
    """The filters on one topic, by group."""

    group_filter_data: dict[str, ConsumerFilterData] = msgspec.field(default_factory=dict)
    topic: str = ""


class ConsumerFilterTable(Body, kw_only=True):
    """config/consumerFilter.json."""

    filter_data_by_topic: dict[str, FilterDataMapByTopic] = msgspec.field(default_factory=dict)
