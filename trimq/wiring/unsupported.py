"""Why request codes are not answered: the feature that is missing. For the log and docs/compatibility.md."""

from typing import Final

from trimq.codec.codes import RequestCode as Code

_UNUSED = "RocketMQ 5.5.1 has no handler for it either"
_CLUSTER = "controllers and slaves that act as masters are not supported yet"
_CONTROLLER = "sent to a Controller, which TriMQ is not"
_CONTAINER = "only RocketMQ's BrokerContainer answers it"
_ACL = "access control is not supported yet"
_ROCKSDB = "TriMQ has no RocksDB store"
_COLD = "TriMQ has no cold-data flow control"

# Requests that servers send to clients: a broker or NameServer never receives them.
NEVER_RECEIVED: Final[dict[Code, str]] = {
    Code.CHECK_TRANSACTION_STATE: "sent to clients",
    Code.NOTIFY_CONSUMER_IDS_CHANGED: "sent to clients",
    Code.RESET_CONSUMER_CLIENT_OFFSET: "sent to clients",
    Code.GET_CONSUMER_STATUS_FROM_CLIENT: "sent to clients",
    Code.PUSH_REPLY_MESSAGE_TO_CLIENT: "sent to clients",
    Code.NOTIFY_UNSUBSCRIBE_LITE: "sent to clients",
}

_GROUPED: Final[dict[str, str]] = {
    _UNUSED: (
        "QUERY_BROKER_OFFSET GET_TOPIC_CONFIG_LIST GET_TOPIC_NAME_LIST "
        "TRIGGER_DELETE_FILES GET_CLIENT_CONFIG SUSPEND_CONSUMER RESUME_CONSUMER "
        "RESET_CONSUMER_OFFSET_IN_CONSUMER RESET_CONSUMER_OFFSET_IN_BROKER "
        "ADJUST_CONSUMER_THREAD_POOL WHO_CONSUME_THE_MESSAGE REGISTER_FILTER_SERVER "
        "REGISTER_MESSAGE_FILTER_CLASS ACK_LITE_MESSAGE"
    ),
    _CLUSTER: ("NOTIFY_MIN_BROKER_ID_CHANGE GET_BROKER_EPOCH_CACHE NOTIFY_BROKER_ROLE_CHANGED"),
    _CONTROLLER: (
        "CONTROLLER_ALTER_SYNC_STATE_SET CONTROLLER_ELECT_MASTER "
        "CONTROLLER_REGISTER_BROKER CONTROLLER_GET_REPLICA_INFO "
        "CONTROLLER_GET_METADATA_INFO CONTROLLER_GET_SYNC_STATE_DATA "
        "UPDATE_CONTROLLER_CONFIG GET_CONTROLLER_CONFIG CLEAN_BROKER_DATA "
        "CONTROLLER_GET_NEXT_BROKER_ID CONTROLLER_APPLY_BROKER_ID "
        "BROKER_CLOSE_CHANNEL_REQUEST CHECK_NOT_ACTIVE_BROKER_REQUEST "
        "GET_BROKER_LIVE_INFO_REQUEST GET_SYNC_STATE_DATA_REQUEST "
        "RAFT_BROKER_HEART_BEAT_EVENT_REQUEST"
    ),
    _CONTAINER: "ADD_BROKER REMOVE_BROKER",
    _ACL: (
        "AUTH_CREATE_USER AUTH_UPDATE_USER AUTH_DELETE_USER AUTH_GET_USER AUTH_LIST_USER "
        "AUTH_CREATE_ACL AUTH_UPDATE_ACL AUTH_DELETE_ACL AUTH_GET_ACL AUTH_LIST_ACL"
    ),
    _ROCKSDB: "CHECK_ROCKSDB_CQ_WRITE_PROGRESS EXPORT_ROCKSDB_CONFIG_TO_JSON",
    _COLD: (
        "UPDATE_COLD_DATA_FLOW_CTR_CONFIG REMOVE_COLD_DATA_FLOW_CTR_CONFIG "
        "GET_COLD_DATA_FLOW_CTR_INFO"
    ),
}

UNSUPPORTED: Final[dict[Code, str]] = {
    **NEVER_RECEIVED,
    **{Code[name]: why for why, names in _GROUPED.items() for name in names.split()},
}
