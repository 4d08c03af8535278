"""Headers of sending and of sending back."""

from typing import ClassVar

import msgspec

from trimq.codec.headers.base import Header, Integer, Long, RpcHeader, TopicHeader


class SentMessageHeader(TopicHeader, kw_only=True):
    """The fields of a message that is sent, and of one that is passed on."""

    producer_group: str | None = None
    topic: str
    default_topic: str | None = None
    default_topic_queue_nums: Integer | None = None
    queue_id: Integer
    sys_flag: Integer
    born_timestamp: Long
    flag: Integer
    properties: str | None = None
    reconsume_times: Integer | None = None


class SendMessageRequestHeader(SentMessageHeader, kw_only=True):
    """Asks for SEND_MESSAGE, SEND_REPLY_MESSAGE. The real broker does not need what is optional here."""

    unit_mode: bool | None = None
    batch: bool | None = None
    max_reconsume_times: Integer | None = None


class SendMessageResponseHeader(Header, kw_only=True):
    """Answers SEND_MESSAGE, SEND_REPLY_MESSAGE."""

    strict: ClassVar[bool] = True

    msg_id: str
    queue_id: Integer
    queue_offset: Long
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None


class SendMessageRequestHeaderV2(TopicHeader, kw_only=True):
    """Asks for SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, SEND_REPLY_MESSAGE_V2."""

    strict: ClassVar[bool] = True

    producer_group: str | None = msgspec.field(name="a", default=None)
    topic: str = msgspec.field(name="b")
    default_topic: str | None = msgspec.field(name="c", default=None)
    default_topic_queue_nums: Integer | None = msgspec.field(name="d", default=None)
    queue_id: Integer = msgspec.field(name="e")
    sys_flag: Integer = msgspec.field(name="f")
    born_timestamp: Long = msgspec.field(name="g")
    flag: Integer = msgspec.field(name="h")
    properties: str | None = msgspec.field(name="i", default=None)
    reconsume_times: Integer | None = msgspec.field(name="j", default=None)
    unit_mode: bool | None = msgspec.field(name="k", default=None)
    max_reconsume_times: Integer | None = msgspec.field(name="l", default=None)
    batch: bool | None = msgspec.field(name="m", default=None)
    broker_name: str | None = msgspec.field(name="n", default=None)


class ConsumerSendMsgBackRequestHeader(RpcHeader, kw_only=True):
    """Asks for CONSUMER_SEND_MSG_BACK."""

    offset: Long
    group: str
    delay_level: Integer | None = None
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Integer | None = None


class ReplyMessageRequestHeader(SentMessageHeader, kw_only=True):
    """Asks for PUSH_REPLY_MESSAGE_TO_CLIENT. What is optional is missing when the reply had none."""

    unit_mode: bool = False
    born_host: str
    store_host: str
    store_timestamp: Long = 0
