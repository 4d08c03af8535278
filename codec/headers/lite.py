"""Headers about lite topics."""

from trimq.codec.headers.base import Header, Integer, Long, RpcHeader


class GetParentTopicInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_PARENT_TOPIC_INFO."""

    topic: str


class GetLiteTopicInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_LITE_TOPIC_INFO."""

    parent_topic: str
    lite_topic: str | None = None


class GetLiteClientInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_LITE_CLIENT_INFO."""

    parent_topic: str
    group: str
    client_id: str | None = None
    max_count: Integer = 1000


class GetLiteGroupInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_LITE_GROUP_INFO."""

    group: str
    lite_topic: str | None = None
    top_k: Integer = 0


class TriggerLiteDispatchRequestHeader(Header, kw_only=True):
    """Asks for TRIGGER_LITE_DISPATCH."""

    group: str
    client_id: str | None = None


class PopLiteMessageRequestHeader(RpcHeader, kw_only=True):
    """Asks for POP_LITE_MESSAGE; times in milliseconds."""

    client_id: str
    consumer_group: str
    topic: str
    max_msg_num: Integer = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    # When the client asked; 0 or absent: now.
    born_time: Long = 0
    attempt_id: str | None = None


class PopLiteMessageResponseHeader(Header, kw_only=True):
    """Answers POP_LITE_MESSAGE."""

    pop_time: Long
    invisible_time: Long
    revive_qid: Integer
    order_count_info: str | None = None


class LiteSubscriptionCtlRequestHeader(RpcHeader, kw_only=True):
    """Asks for LITE_SUBSCRIPTION_CTL; what to do is in the body."""


class NotifyUnsubscribeLiteRequestHeader(RpcHeader, kw_only=True):
    """Tells a client by NOTIFY_UNSUBSCRIBE_LITE that another one reads the lite topic now."""

    lite_topic: str
    consumer_group: str
    client_id: str
