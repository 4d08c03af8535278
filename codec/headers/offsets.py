"""Headers about a queue's and a group's offsets."""

from trimq.codec.headers.base import Header, Integer, Long, RpcHeader, TopicHeader


class QueryConsumerOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Integer
    set_zero_if_not_found: bool | None = None


class QueryConsumerOffsetResponseHeader(Header, kw_only=True):
    """Answers QUERY_CONSUMER_OFFSET."""

    offset: Long


class UpdateConsumerOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for UPDATE_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Integer | None = None
    commit_offset: Long | None = None


class SearchOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for SEARCH_OFFSET_BY_TIMESTAMP."""

    topic: str
    lite_topic: str | None = None
    queue_id: Integer
    timestamp: Long
    boundary_type: str | None = None


class SearchOffsetResponseHeader(Header, kw_only=True):
    """Answers SEARCH_OFFSET_BY_TIMESTAMP."""

    offset: Long


class GetMaxOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_MAX_OFFSET."""

    topic: str
    queue_id: Integer
    committed: bool = True


class GetMaxOffsetResponseHeader(Header, kw_only=True):
    """Answers GET_MAX_OFFSET."""

    offset: Long


class GetMinOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_MIN_OFFSET."""

    topic: str
    queue_id: Integer


class GetMinOffsetResponseHeader(Header, kw_only=True):
    """Answers GET_MIN_OFFSET."""

    offset: Long


class GetEarliestMsgStoretimeRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_EARLIEST_MSG_STORETIME."""

    topic: str
    queue_id: Integer


class GetEarliestMsgStoretimeResponseHeader(Header, kw_only=True):
    """Answers GET_EARLIEST_MSG_STORETIME."""

    timestamp: Long


class ResetOffsetRequestHeader(TopicHeader, kw_only=True):
    """Asks for RESET_CONSUMER_CLIENT_OFFSET, INVOKE_BROKER_TO_RESET_OFFSET."""

    group: str
    topic: str
    queue_id: Integer = -1
    offset: Long | None = None
    timestamp: Long = 0
    is_force: bool = False


class GetConsumerStatusRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_CONSUMER_STATUS_FROM_CLIENT, INVOKE_BROKER_TO_GET_CONSUMER_STATUS."""

    topic: str
    group: str
    client_addr: str | None = None


class QueryConsumeTimeSpanRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_CONSUME_TIME_SPAN."""

    topic: str
    group: str = "null"


class QueryCorrectionOffsetHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_CORRECTION_OFFSET."""

    filter_groups: str | None = None
    compare_group: str = "null"
    topic: str


class CloneGroupOffsetRequestHeader(RpcHeader, kw_only=True):
    """Asks for CLONE_GROUP_OFFSET."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


class QueryConsumeQueueRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_CONSUME_QUEUE."""

    topic: str | None = None
    queue_id: Integer = 0
    index: Long = 0
    count: Integer = 0
    consumer_group: str | None = None
