"""Headers of POP consumption."""

from trimq.codec.headers.base import Header, Integer, Long, TopicHeader


class PopMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for POP_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Integer = 0
    max_msg_nums: Integer = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: Integer = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


class PopMessageResponseHeader(Header, kw_only=True):
    """Answers POP_MESSAGE."""

    pop_time: Long
    invisible_time: Long
    revive_qid: Integer
    rest_num: Long
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class AckMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for ACK_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Integer
    extra_info: str
    offset: Long
    lite_topic: str | None = None


class PeekMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for PEEK_MESSAGE."""

    topic: str
    queue_id: Integer = 0
    max_msg_nums: Integer = 0
    consumer_group: str


class ChangeInvisibleTimeRequestHeader(TopicHeader, kw_only=True):
    """Asks for CHANGE_MESSAGE_INVISIBLETIME."""

    consumer_group: str
    topic: str
    queue_id: Integer
    extra_info: str
    offset: Long
    invisible_time: Long
    lite_topic: str | None = None
    suspend: bool = False


class ChangeInvisibleTimeResponseHeader(Header, kw_only=True):
    """Answers CHANGE_MESSAGE_INVISIBLETIME."""

    pop_time: Long
    invisible_time: Long
    revive_qid: Integer


class NotificationRequestHeader(TopicHeader, kw_only=True):
    """Asks for NOTIFICATION."""

    consumer_group: str
    topic: str
    queue_id: Integer = 0
    poll_time: Long = 0
    born_time: Long = 0
    order: bool = False
    attempt_id: str | None = None
    # The client of lite topics that asks for its own news.
    is_lite_consumer: bool = False
    client_id: str | None = None
    exp_type: str | None = None
    exp: str | None = None


class NotificationResponseHeader(Header, kw_only=True):
    """Answers NOTIFICATION."""

    has_msg: bool
    polling_full: bool


class PollingInfoRequestHeader(TopicHeader, kw_only=True):
    """Asks for POLLING_INFO."""

    consumer_group: str
    topic: str
    queue_id: Integer = 0


class PollingInfoResponseHeader(Header, kw_only=True):
    """Answers POLLING_INFO."""

    polling_num: Integer
