"""Topic configurations and their versions."""

from typing import Any

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.enums import TopicFilterType
from trimq.codec.flags import Perm
from trimq.codec.names import AUTO_CREATE_TOPIC


class DataVersion(Body, kw_only=True):
    """Shows whether one side's tables differ from the other's: equal in all three, or changed."""

    counter: Int64 = 0
    state_version: Int64 = 0
    timestamp: Int64 = 0


class TopicConfig(Body, kw_only=True):
    """One topic; `perm` holds the bits of `codec.flags.Perm`."""

    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    order: bool = False
    perm: Int32 = Perm.READ | Perm.WRITE
    read_queue_nums: Int32 = 16
    topic_filter_type: TopicFilterType = "SINGLE_TAG"
    topic_name: str = ""
    topic_sys_flag: Int32 = 0
    write_queue_nums: Int32 = 16


def header_fields(topic: TopicConfig) -> dict[str, Any]:
    """What CreateTopicRequestHeader says of a topic, but for its attributes."""
    return {
        "topic": topic.topic_name,
        "default_topic": AUTO_CREATE_TOPIC,
        "read_queue_nums": topic.read_queue_nums,
        "write_queue_nums": topic.write_queue_nums,
        "perm": topic.perm,
        "topic_filter_type": topic.topic_filter_type,
        "topic_sys_flag": topic.topic_sys_flag,
        "order": topic.order,
    }


class TopicConfigSerializeWrapper(Body, kw_only=True):
    """`topics.json`, and what 4.x brokers register."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    topic_config_table: dict[str, TopicConfig] = msgspec.field(default_factory=dict)


class TopicQueueMappingInfo(Body, kw_only=True):
    """What the NameServer knows about a static topic's queues on one broker."""

    bname: str | None = None
    curr_id_map: dict[Int32, Int32] = msgspec.field(default_factory=dict)
    dirty: bool = False
    epoch: Int64 = 0
    scope: str | None = "__global__"
    topic: str | None = None
    total_queues: Int32 = 0


class TopicConfigAndMappingSerializeWrapper(TopicConfigSerializeWrapper, kw_only=True):
    """GET_ALL_TOPIC_CONFIG, and what 5.x brokers register.

    `topic_queue_mapping_detail_map` is passed on unchanged: nothing here reads it.
    """

    mapping_data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    topic_queue_mapping_detail_map: dict[str, Any] = msgspec.field(default_factory=dict)
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] = msgspec.field(
        default_factory=dict
    )


class DeletedTopics(Body, kw_only=True):
    """What an answer to a TriMQ slave's GET_ALL_TOPIC_CONFIG says of deleted topics: where the master's log ended."""

    deletions: dict[str, Int64] = msgspec.field(default_factory=dict)


class TopicList(Body, kw_only=True):
    """Names of topics."""

    broker_addr: str | None = None
    topic_list: list[str] = msgspec.field(default_factory=list)


class CreateTopicListRequestBody(Body, kw_only=True):
    """UPDATE_AND_CREATE_TOPIC_LIST."""

    topic_config_list: list[TopicConfig] = msgspec.field(default_factory=list)


class DeleteTopicListRequestBody(Body, kw_only=True):
    """DELETE_TOPIC_IN_BROKER_LIST."""

    topic_list: list[str | None] | None = None
