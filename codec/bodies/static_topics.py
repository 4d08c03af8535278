"""Static topics: queues with global numbers, each kept by one broker after another.

Java: org.apache.rocketmq.remoting.protocol.statictopic.
"""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.topics import DataVersion, TopicConfig, TopicQueueMappingInfo

CREATED = "CREATE_OR_UPDATE"
REMAPPED = "REMAPPING"
"""TopicRemappingDetailWrapper.TYPE_CREATE_OR_UPDATE and TYPE_REMAPPING."""


class LogicQueueMappingItem(Body, kw_only=True):
    """Where a part of a queue is: from `logic_offset` on in a broker's own queue.

    -1 stands for an offset or a time that is not decided. Offsets are either global, counting the
    messages of the whole queue, or those of the broker's own queue.
    """

    bname: str | None = None
    end_offset: Int64 = -1
    gen: Int32 = 0
    logic_offset: Int64 = 0
    queue_id: Int32 = 0
    start_offset: Int64 = 0
    time_of_end: Int64 = -1
    time_of_start: Int64 = -1

    @property
    def is_decided(self) -> bool:
        """Whether it is known where the part begins (checkIfLogicoffsetDecided)."""
        return self.logic_offset >= 0

    @property
    def has_end(self) -> bool:
        """Whether the part ends, and is not empty (checkIfEndOffsetDecided)."""
        return self.end_offset > self.start_offset

    @property
    def global_end(self) -> int:
        """Where the part is known to reach, exclusive (computeMaxStaticQueueOffset)."""
        if self.end_offset >= self.start_offset:
            return self.logic_offset + self.end_offset - self.start_offset
        return self.logic_offset

    @property
    def offset_delta(self) -> int:
        """What clients add to the offsets inside messages (computeOffsetDelta)."""
        return self.logic_offset - self.start_offset

    def to_global(self, offset: int) -> int:
        """The global offset of the broker's own one (computeStaticQueueOffsetStrictly)."""
        return self.logic_offset + max(offset - self.start_offset, 0)

    def to_global_within(self, offset: int) -> int:
        """The same, at most the part's end; -1 while its start is not decided (...Loosely)."""
        if self.logic_offset < 0:
            return -1
        if self.end_offset >= self.start_offset:
            offset = min(offset, self.end_offset)
        return self.to_global(offset)

    def to_own(self, offset: int) -> int:
        """The broker's own offset of a global one (computePhysicalQueueOffset)."""
        return offset - self.logic_offset + self.start_offset


class TopicQueueMappingDetail(TopicQueueMappingInfo, kw_only=True):
    """A static topic as one broker keeps it: the parts of each queue by global number."""

    hosted_queues: dict[Int32, list[LogicQueueMappingItem]] = msgspec.field(default_factory=dict)


class TopicConfigAndQueueMapping(TopicConfig, kw_only=True):
    """GET_TOPIC_CONFIG: a topic, and its mapping if it is static."""

    mapping_detail: TopicQueueMappingDetail | None = None


class TopicQueueMappingSerializeWrapper(Body, kw_only=True):
    """`topicQueueMapping.json`."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingDetail] = msgspec.field(
        default_factory=dict
    )


class TopicRemappingDetailWrapper(Body, kw_only=True):
    """What tools write to a file before and after they change a static topic."""

    broker_config_map: dict[str, TopicConfigAndQueueMapping] = msgspec.field(default_factory=dict)
    broker_to_map_in: list[str] = msgspec.field(default_factory=list)
    broker_to_map_out: list[str] = msgspec.field(default_factory=list)
    epoch: Int64 = 0
    topic: str | None = None
    type: str | None = None


class MappingsOfAll(Body, kw_only=True):
    """What an answer to GET_ALL_TOPIC_CONFIG says about static topics."""

    mapping_data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    topic_queue_mapping_detail_map: dict[str, TopicQueueMappingDetail] = msgspec.field(
        default_factory=dict
    )
