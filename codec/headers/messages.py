"""Headers of looking up messages."""

from trimq.codec.headers.base import Header, Integer, Long, TopicHeader


class QueryMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for QUERY_MESSAGE. The real broker finds nothing without a topic or a key."""

    topic: str | None = None
    key: str | None = None
    max_num: Integer
    begin_timestamp: Long
    end_timestamp: Long
    index_type: str | None = None
    last_key: str | None = None


class QueryMessageResponseHeader(Header, kw_only=True):
    """Answers QUERY_MESSAGE."""

    index_last_update_timestamp: Long
    index_last_update_phyoffset: Long


class ViewMessageRequestHeader(Header, kw_only=True):
    """Asks for VIEW_MESSAGE_BY_ID."""

    topic: str | None = None
    offset: Long


class ViewBrokerStatsDataRequestHeader(Header, kw_only=True):
    """Asks for VIEW_BROKER_STATS_DATA."""

    stats_name: str
    stats_key: str


class ResumeCheckHalfMessageRequestHeader(Header, kw_only=True):
    """Asks for RESUME_CHECK_HALF_MESSAGE."""

    topic: str | None = None
    msg_id: str | None = None


class CheckRocksdbCqWriteProgressRequestHeader(Header, kw_only=True):
    """Asks for CHECK_ROCKSDB_CQ_WRITE_PROGRESS."""

    topic: str
    check_store_time: Long = 0


class ExportRocksDBConfigToJsonRequestHeader(Header, kw_only=True):
    """Asks for EXPORT_ROCKSDB_CONFIG_TO_JSON."""

    config_type: str


class RecallMessageRequestHeader(TopicHeader, kw_only=True):
    """Asks for RECALL_MESSAGE. The broker misses no field before it needs it."""

    producer_group: str | None = None
    topic: str | None = None
    recall_handle: str | None = None


class RecallMessageResponseHeader(Header, kw_only=True):
    """Answers RECALL_MESSAGE."""

    msg_id: str
