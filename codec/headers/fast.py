"""Native twins of the send and pull headers (SendMessageRequestHeader, ...V2, PullMessage...).

The Structs in `send` and `pull` declare these headers; a test checks that the twins equal them,
errors included. The twins leave out what a broker does not read: `ns nsd bname oway lo`.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_int, parse_long


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


def decode_send(ext: dict[str, str]) -> SendHeader:
    """The long names of code 10, whose optional numbers count as absent when unreadable."""
    name = "SendMessageRequestHeader"
    return SendHeader(
        ext.get("producerGroup"),
        _text(ext, "topic", name),
        ext.get("defaultTopic"),
        _lenient_integer(ext, "defaultTopicQueueNums"),
        _integer(ext, "queueId", name),
        _integer(ext, "sysFlag", name),
        _long(ext, "bornTimestamp", name),
        _integer(ext, "flag", name),
        ext.get("properties"),
        _lenient_integer(ext, "reconsumeTimes"),
        _boolean(ext, "unitMode"),
        _lenient_integer(ext, "maxReconsumeTimes"),
        _boolean(ext, "batch"),
    )


def decode_send_v2(ext: dict[str, str]) -> SendHeader:
    """The one-letter names of codes 310 and 320."""
    name = "SendMessageRequestHeaderV2"
    return SendHeader(
        ext.get("a"),
        _text(ext, "b", name),
        ext.get("c"),
        _optional_integer(ext, "d", name),
        _integer(ext, "e", name),
        _integer(ext, "f", name),
        _long(ext, "g", name),
        _integer(ext, "h", name),
        ext.get("i"),
        _optional_integer(ext, "j", name),
        _boolean(ext, "k"),
        _optional_integer(ext, "l", name),
        _boolean(ext, "m"),
    )


def decode_pull(ext: dict[str, str]) -> PullHeader:
    name = "PullMessageRequestHeader"
    return PullHeader(
        _text(ext, "consumerGroup", name),
        _text(ext, "topic", name),
        _integer(ext, "queueId", name),
        _long(ext, "queueOffset", name),
        _integer(ext, "maxMsgNums", name),
        _integer(ext, "sysFlag", name),
        _optional_long(ext, "commitOffset", name),
        _optional_long(ext, "suspendTimeoutMillis", name),
        _optional_long(ext, "subVersion", name),
        ext.get("subscription"),
        ext.get("expressionType"),
        _optional_integer(ext, "maxMsgBytes", name),
        ext.get("liteTopic"),
        _optional_integer(ext, "requestSource", name),
        ext.get("proxyFrowardClientId"),
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
    if transaction_id is not None:
        fields["transactionId"] = transaction_id
    if batch_uniq_id is not None:
        fields["batchUniqId"] = batch_uniq_id
    if recall_handle is not None:
        fields["recallHandle"] = recall_handle
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
    if offset_delta is not None:
        fields["offsetDelta"] = str(offset_delta)
    if topic_sys_flag is not None:
        fields["topicSysFlag"] = str(topic_sys_flag)
    if group_sys_flag is not None:
        fields["groupSysFlag"] = str(group_sys_flag)
    if forbidden_type is not None:
        fields["forbiddenType"] = str(forbidden_type)
    return fields


def _text(ext: dict[str, str], key: str, header: str) -> str:
    text = ext.get(key)
    if text is None:
        raise CodecError(f"{header} needs the field {key!r}")
    return text


def _integer(ext: dict[str, str], key: str, header: str) -> int:
    text = ext.get(key)
    # Nearly every number is this short and has no sign; the rules are in parse_int.
    if text is not None and len(text) < 10 and text.isdecimal():
        return int(text)
    number = parse_int(_text(ext, key, header))
    if number is None:
        raise CodecError(f"{header}: {key!r} is not of type Integer: {ext[key][:40]!r}")
    return number


def _long(ext: dict[str, str], key: str, header: str) -> int:
    text = ext.get(key)
    if text is not None and len(text) < 19 and text.isdecimal():
        return int(text)
    number = parse_long(_text(ext, key, header))
    if number is None:
        raise CodecError(f"{header}: {key!r} is not of type Long: {ext[key][:40]!r}")
    return number


def _optional_integer(ext: dict[str, str], key: str, header: str) -> int | None:
    return _integer(ext, key, header) if key in ext else None


def _optional_long(ext: dict[str, str], key: str, header: str) -> int | None:
    return _long(ext, key, header) if key in ext else None


def _lenient_integer(ext: dict[str, str], key: str) -> int | None:
    text = ext.get(key)
    return None if text is None else parse_int(text)


def _boolean(ext: dict[str, str], key: str) -> bool | None:
    text = ext.get(key)
    if text is None:
        return None
    return text == "true" or text.lower() == "true"
