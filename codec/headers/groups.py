"""Headers about consumer groups."""

from trimq.codec.headers.base import Header, Integer, RpcHeader, TopicHeader


class GetAllSubscriptionGroupRequestHeader(Header, kw_only=True):
    """Asks for GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""

    group_seq: Integer | None = None
    data_version: str | None = None
    max_group_num: Integer | None = None


class GetAllSubscriptionGroupResponseHeader(Header, kw_only=True):
    """Answers GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""

    total_group_num: Integer


class DeleteSubscriptionGroupRequestHeader(RpcHeader, kw_only=True):
    """Asks for DELETE_SUBSCRIPTIONGROUP."""

    group_name: str
    clean_offset: bool = False


class GetConsumeStatsRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_CONSUME_STATS."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


class GetConsumeStatsInBrokerHeader(Header, kw_only=True):
    """Asks for GET_BROKER_CONSUME_STATS."""

    is_order: bool = False


class QuerySubscriptionByConsumerRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_SUBSCRIPTION_BY_CONSUMER."""

    group: str
    topic: str | None = None


class GetSubscriptionGroupConfigRequestHeader(RpcHeader, kw_only=True):
    """Asks for GET_SUBSCRIPTIONGROUP_CONFIG."""

    group: str


class UpdateGroupForbiddenRequestHeader(TopicHeader, kw_only=True):
    """Asks for UPDATE_AND_GET_GROUP_FORBIDDEN."""

    group: str
    topic: str | None = None
    readable: bool | None = None
