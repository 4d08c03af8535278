"""Headers of the NameServer.

Fields that the real NameServer answers without are optional here, though Java marks them not null:
its reflective decoder only logs a missing one.
"""

from trimq.codec.headers.base import Header, Integer, Long, TopicHeader


class PutKVConfigRequestHeader(Header, kw_only=True):
    """Asks for PUT_KV_CONFIG."""

    namespace: str | None = None
    key: str | None = None
    value: str | None = None


class GetKVConfigRequestHeader(Header, kw_only=True):
    """Asks for GET_KV_CONFIG."""

    namespace: str | None = None
    key: str | None = None


class GetKVConfigResponseHeader(Header, kw_only=True):
    """Answers GET_KV_CONFIG."""

    value: str | None = None


class DeleteKVConfigRequestHeader(Header, kw_only=True):
    """Asks for DELETE_KV_CONFIG."""

    namespace: str | None = None
    key: str | None = None


class RegisterBrokerRequestHeader(Header, kw_only=True):
    """Asks for REGISTER_BROKER."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str | None = None
    broker_id: Long
    heartbeat_timeout_millis: Long | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Integer = 0


class RegisterBrokerResponseHeader(Header, kw_only=True):
    """Answers REGISTER_BROKER."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(Header, kw_only=True):
    """Asks for UNREGISTER_BROKER."""

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    broker_id: Long | None = None


class GetRouteInfoRequestHeader(TopicHeader, kw_only=True):
    """Asks for GET_ROUTEINFO_BY_TOPIC."""

    topic: str | None = None
    accept_standard_json_only: bool | None = None


class WipeWritePermOfBrokerRequestHeader(Header, kw_only=True):
    """Asks for WIPE_WRITE_PERM_OF_BROKER."""

    broker_name: str | None = None


class WipeWritePermOfBrokerResponseHeader(Header, kw_only=True):
    """Answers WIPE_WRITE_PERM_OF_BROKER."""

    wipe_topic_count: Integer


class DeleteTopicFromNamesrvRequestHeader(TopicHeader, kw_only=True):
    """Asks for DELETE_TOPIC_IN_NAMESRV."""

    topic: str | None = None
    cluster_name: str | None = None


class RegisterTopicRequestHeader(TopicHeader, kw_only=True):
    """Asks for REGISTER_TOPIC_IN_NAMESRV."""

    topic: str | None = None


class GetKVListByNamespaceRequestHeader(Header, kw_only=True):
    """Asks for GET_KVLIST_BY_NAMESPACE."""

    namespace: str | None = None


class QueryDataVersionRequestHeader(Header, kw_only=True):
    """Asks for QUERY_DATA_VERSION."""

    broker_name: str | None = None
    broker_addr: str
    cluster_name: str
    broker_id: Long | None = None


class QueryDataVersionResponseHeader(Header, kw_only=True):
    """Answers QUERY_DATA_VERSION."""

    changed: bool


class AddWritePermOfBrokerRequestHeader(Header, kw_only=True):
    """Asks for ADD_WRITE_PERM_OF_BROKER."""

    broker_name: str | None = None


class AddWritePermOfBrokerResponseHeader(Header, kw_only=True):
    """Answers ADD_WRITE_PERM_OF_BROKER."""

    add_topic_count: Integer


class GetBrokerMemberGroupRequestHeader(Header, kw_only=True):
    """Asks for GET_BROKER_MEMBER_GROUP."""

    cluster_name: str | None = None
    broker_name: str | None = None


class BrokerHeartbeatRequestHeader(Header, kw_only=True):
    """Asks for BROKER_HEARTBEAT."""

    cluster_name: str
    broker_addr: str
    broker_name: str | None = None
    broker_id: Long | None = None
    epoch: Integer | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    heartbeat_timeout_mills: Long | None = None
    election_priority: Integer | None = None
