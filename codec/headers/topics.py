"""Headers about a broker's topics."""

from trimq.codec.headers.base import Header, Integer, RpcHeader, TopicHeader


class CreateTopicRequestHeader(TopicHeader, kw_only=True):
    """Asks for UPDATE_AND_CREATE_TOPIC, UPDATE_AND_CREATE_STATIC_TOPIC."""

    topic: str
    default_topic: str
    read_queue_nums: Integer
    write_queue_nums: Integer
    perm: Integer
    topic_filter_type: str
    topic_sys_flag: Integer | None = None
    order: bool = False
    attributes: str | None = None
    force: bool = False


class CreateTopicListRequestHeader(RpcHeader, kw_only=True):
    """Asks for UPDATE_AND_CREATE_TOPIC_LIST."""


class GetAllTopicConfigRequestHeader(Header, kw_only=True):
    """Asks for GET_ALL_TOPIC_CONFIG."""

    topic_seq: Integer | None = None
    data_version: str | None = None
    max_topic_num: Integer | None = None


class SlavesTopicConfigRequestHeader(GetAllTopicConfigRequestHeader, kw_only=True):
    """The same of a TriMQ slave, which asks for what was deleted, too; RocketMQ passes that field over."""

    deletions: bool | None = None


class GetAllTopicConfigResponseHeader(Header, kw_only=True):
    """Answers GET_ALL_TOPIC_CONFIG."""

    total_topic_num: Integer | None = None


class GetTopicStatsInfoRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_TOPIC_STATS_INFO."""

    topic: str


class DeleteTopicRequestHeader(TopicHeader, kw_only=True):
    """Asks for DELETE_TOPIC_IN_BROKER."""

    topic: str


class QueryTopicConsumeByWhoRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_TOPIC_CONSUME_BY_WHO."""

    topic: str


class QueryTopicsByConsumerRequestHeader(RpcHeader, kw_only=True):
    """Asks for QUERY_TOPICS_BY_CONSUMER."""

    group: str


class GetTopicConfigRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_TOPIC_CONFIG."""

    topic: str


class GetTopicsByClusterRequestHeader(Header, kw_only=True):
    """Asks for GET_TOPICS_BY_CLUSTER."""

    cluster: str | None = None
