"""Native twins of what comes with most messages: the headers of sends, pulls and ends of transactions.

The Structs in `send`, `pull` and `transactions` declare these headers; a test checks that the twins equal them,
errors included. The twins leave out what a broker does not read: `ns nsd bname oway lo`.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.headers.fields import (
    add_number,
    add_text,
    boolean_of,
    integer_of,
    lenient_integer,
    lenient_long,
    long_of,
    optional_integer,
    optional_long,
    text_of,
)


class SendHeader:
    """SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE."""

    __slots__ = (
        "batch",
        "born_timestamp",
        "default_topic",
        "default_topic_queue_nums",
        "flag",
        "max_reconsume_times",
        "producer_group",
        "properties",
        "queue_id",
        "reconsume_times",
        "sys_flag",
        "topic",
        "unit_mode",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of the header
        self,
        producer_group: str | None,
        topic: str,
        default_topic: str | None,
        default_topic_queue_nums: int | None,
        queue_id: int,
        sys_flag: int,
        born_timestamp: int,
        flag: int,
        properties: str | None = None,
        reconsume_times: int | None = None,
        unit_mode: bool | None = None,
        max_reconsume_times: int | None = None,
        batch: bool | None = None,
    ) -> None:
        self.producer_group: str | None = producer_group
        self.topic: str = topic
        self.default_topic: str | None = default_topic
        self.default_topic_queue_nums: int | None = default_topic_queue_nums
        self.queue_id: int = queue_id
        self.sys_flag: int = sys_flag
        self.born_timestamp: int = born_timestamp
        self.flag: int = flag
        self.properties: str | None = properties
        self.reconsume_times: int | None = reconsume_times
        self.unit_mode: bool | None = unit_mode
        self.max_reconsume_times: int | None = max_reconsume_times
        self.batch: bool | None = batch


class PullHeader:
    """PULL_MESSAGE and LITE_PULL_MESSAGE."""

    __slots__ = (
        "commit_offset",
        "consumer_group",
        "expression_type",
        "lite_topic",
        "max_msg_bytes",
        "max_msg_nums",
        "proxy_froward_client_id",
        "queue_id",
        "queue_offset",
        "request_source",
        "sub_version",
        "subscription",
        "suspend_timeout_millis",
        "sys_flag",
        "topic",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of the header
        self,
        consumer_group: str,
        topic: str,
        queue_id: int,
        queue_offset: int,
        max_msg_nums: int,
        sys_flag: int,
        commit_offset: int | None = None,
        suspend_timeout_millis: int | None = None,
        sub_version: int | None = None,
        subscription: str | None = None,
        expression_type: str | None = None,
        max_msg_bytes: int | None = None,
        lite_topic: str | None = None,
        request_source: int | None = None,
        proxy_froward_client_id: str | None = None,
    ) -> None:
        self.consumer_group: str = consumer_group
        self.topic: str = topic
        self.queue_id: int = queue_id
        self.queue_offset: int = queue_offset
        self.max_msg_nums: int = max_msg_nums
        self.sys_flag: int = sys_flag
        self.commit_offset: int | None = commit_offset
        self.suspend_timeout_millis: int | None = suspend_timeout_millis
        self.sub_version: int | None = sub_version
        self.subscription: str | None = subscription
        self.expression_type: str | None = expression_type
        self.max_msg_bytes: int | None = max_msg_bytes
        self.lite_topic: str | None = lite_topic
        self.request_source: int | None = request_source
        self.proxy_froward_client_id: str | None = proxy_froward_client_id


class EndHeader:
    """END_TRANSACTION, as far as a broker reads it."""

    __slots__ = (
        "commit_log_offset",
        "commit_or_rollback",
        "from_transaction_check",
        "producer_group",
        "tran_state_table_offset",
    )

    def __init__(
        self,
        producer_group: str | None,
        tran_state_table_offset: int | None,
        commit_log_offset: int | None,
        commit_or_rollback: int,
        from_transaction_check: bool,
    ) -> None:
        self.producer_group: str | None = producer_group
        self.tran_state_table_offset: int | None = tran_state_table_offset
        self.commit_log_offset: int | None = commit_log_offset
        self.commit_or_rollback: int = commit_or_rollback
        self.from_transaction_check: bool = from_transaction_check


def decode_send(ext: dict[str, str]) -> SendHeader:
    """The long names of code 10, whose optional numbers count as absent when unreadable."""
    name = "SendMessageRequestHeader"
    return SendHeader(
        ext.get("producerGroup"),
        text_of(ext, "topic", name),
        ext.get("defaultTopic"),
        lenient_integer(ext, "defaultTopicQueueNums"),
        integer_of(ext, "queueId", name),
        integer_of(ext, "sysFlag", name),
        long_of(ext, "bornTimestamp", name),
        integer_of(ext, "flag", name),
        ext.get("properties"),
        lenient_integer(ext, "reconsumeTimes"),
        boolean_of(ext, "unitMode"),
        lenient_integer(ext, "maxReconsumeTimes"),
        boolean_of(ext, "batch"),
    )


def decode_send_v2(ext: dict[str, str]) -> SendHeader:
    """The one-letter names of codes 310 and 320."""
    name = "SendMessageRequestHeaderV2"
    return SendHeader(
        ext.get("a"),
        text_of(ext, "b", name),
        ext.get("c"),
        optional_integer(ext, "d", name),
        integer_of(ext, "e", name),
        integer_of(ext, "f", name),
        long_of(ext, "g", name),
        integer_of(ext, "h", name),
        ext.get("i"),
        optional_integer(ext, "j", name),
        boolean_of(ext, "k"),
        optional_integer(ext, "l", name),
        boolean_of(ext, "m"),
    )


def decode_pull(ext: dict[str, str]) -> PullHeader:
    name = "PullMessageRequestHeader"
    return PullHeader(
        text_of(ext, "consumerGroup", name),
        text_of(ext, "topic", name),
        integer_of(ext, "queueId", name),
        long_of(ext, "queueOffset", name),
        integer_of(ext, "maxMsgNums", name),
        integer_of(ext, "sysFlag", name),
        optional_long(ext, "commitOffset", name),
        optional_long(ext, "suspendTimeoutMillis", name),
        optional_long(ext, "subVersion", name),
        ext.get("subscription"),
        ext.get("expressionType"),
        optional_integer(ext, "maxMsgBytes", name),
        ext.get("liteTopic"),
        optional_integer(ext, "requestSource", name),
        ext.get("proxyFrowardClientId"),
    )


def decode_end(ext: dict[str, str]) -> EndHeader:
    name = "EndTransactionRequestHeader"
    return EndHeader(
        ext.get("producerGroup"),
        lenient_long(ext, "tranStateTableOffset"),
        lenient_long(ext, "commitLogOffset"),
        integer_of(ext, "commitOrRollback", name),
        boolean_of(ext, "fromTransactionCheck") is True,
    )


def encode_send_response(
    msg_id: str,
    queue_id: int,
    queue_offset: int,
    transaction_id: str | None = None,
    batch_uniq_id: str | None = None,
    recall_handle: str | None = None,
) -> dict[str, str]:
    """SendMessageResponseHeader as ext fields."""
    fields = {"msgId": msg_id, "queueId": str(queue_id), "queueOffset": str(queue_offset)}
    add_text(fields, "transactionId", transaction_id)
    add_text(fields, "batchUniqId", batch_uniq_id)
    add_text(fields, "recallHandle", recall_handle)
    return fields


def encode_pull_response(
    suggest_which_broker_id: int,
    next_begin_offset: int,
    min_offset: int,
    max_offset: int,
    offset_delta: int | None = None,
    topic_sys_flag: int | None = None,
    group_sys_flag: int | None = None,
    forbidden_type: int | None = None,
) -> dict[str, str]:
    """PullMessageResponseHeader as ext fields."""
    fields = {
        "suggestWhichBrokerId": str(suggest_which_broker_id),
        "nextBeginOffset": str(next_begin_offset),
        "minOffset": str(min_offset),
        "maxOffset": str(max_offset),
    }
    add_number(fields, "offsetDelta", offset_delta)
    add_number(fields, "topicSysFlag", topic_sys_flag)
    add_number(fields, "groupSysFlag", group_sys_flag)
    add_number(fields, "forbiddenType", forbidden_type)
    return fields
