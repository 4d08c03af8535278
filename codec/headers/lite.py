"""Headers about lite topics."""

from trimq.codec.headers.base import Header, Integer


class GetParentTopicInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_PARENT_TOPIC_INFO."""

    topic: str


class GetLiteTopicInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_LITE_TOPIC_INFO."""

    parent_topic: str | None = None
    lite_topic: str | None = None


class GetLiteClientInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_LITE_CLIENT_INFO."""

    parent_topic: str | None = None
    group: str | None = None
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
