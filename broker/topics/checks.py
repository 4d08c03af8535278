"""What a topic must comply with before an operator may create, change or delete it."""

from collections.abc import Awaitable, Callable

from trimq.broker.config import BrokerConfig
from trimq.broker.topics.names import validate_topic
from trimq.broker.topics.queue_types import NOT_ELASTIC_TYPES
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.enums import TOPIC_FILTER_TYPES
from trimq.codec.headers.topics import CreateTopicRequestHeader
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.remoting.contract import RemotingError

# Returns when the NameServers know all topics, or when that takes too long (Registration.settled).
Announced = Callable[[], Awaitable[object]]


def asked_for(header: CreateTopicRequestHeader) -> TopicConfig:
    """The topic, without what not every request may set.

    Refused for an unknown topicFilterType (CreateTopicRequestHeader.checkFields).
    """
    name = header.topic_filter_type
    kind = TOPIC_FILTER_TYPES.get(name)
    if kind is None:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, f"topicFilterType = [{name}] value invalid")
    return TopicConfig(
        topic_name=header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        topic_filter_type=kind,
        perm=header.perm,
        topic_sys_flag=header.topic_sys_flag or 0,
    )


def check_name(name: str) -> None:
    remark = validate_topic(name)
    if remark is not None:
        raise RemotingError(ResponseCode.INVALID_PARAMETER, remark)


def check_not_system(config: BrokerConfig, topics: Topics, name: str) -> None:
    """The setting opens system topics to operators, but for the one that only the broker itself may change."""
    checked = config.validate_system_topic_when_update_topic or name == ELASTIC_MAP_TOPIC
    if checked and topics.is_system_topic(name):
        raise RemotingError(
            ResponseCode.INVALID_PARAMETER, f"The topic[{name}] is conflict with system topic."
        )


def check_message_type(config: BrokerConfig, topic: TopicConfig) -> None:
    if (
        not config.enable_mixed_message_type
        and (topic.attributes or {}).get("+message.type") == "MIXED"
    ):
        raise RemotingError(ResponseCode.INVALID_PARAMETER, "MIXED message type is not supported.")


def check_stays_elastic(topics: Topics, topic: TopicConfig) -> None:
    """An elastic topic cannot get messages that choose their queues otherwise."""
    kind = (topic.attributes or {}).get("+message.type")
    if kind in NOT_ELASTIC_TYPES and topic.topic_name in topics.partitions:
        raise RemotingError(
            ResponseCode.INVALID_PARAMETER,
            f"The topic[{topic.topic_name}] is elastic, and messages of type {kind} choose their queues"
            " otherwise: leave its message.type as it is, and create another topic for them.",
        )


def check_not_elastic(topics: Topics, name: str) -> None:
    """An elastic topic cannot become a static one."""
    if name in topics.partitions:
        raise RemotingError(
            ResponseCode.INVALID_PARAMETER,
            f"The topic[{name}] is elastic, its queues cannot be mapped: change their number with"
            f" mqadmin elasticTopic scale -t {name}, or create another topic as a static one.",
        )
