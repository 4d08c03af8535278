"""Requests that tests of many parts send."""

from collections.abc import Iterable
from typing import Any, Final

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from trimq.codec.flags import PullFlag
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from trimq.codec.headers.topics import CreateTopicRequestHeader

_SENT: Final = {
    "producer_group": "P",
    "default_topic": "TBW102",
    "default_topic_queue_nums": 4,
    "queue_id": 0,
    "sys_flag": 0,
    "born_timestamp": 1,
    "flag": 0,
}


def send_header(topic: str, **fields: Any) -> SendMessageRequestHeader:
    """SEND_MESSAGE."""
    return SendMessageRequestHeader(topic=topic, **{**_SENT, **fields})


def send_header_v2(topic: str, **fields: Any) -> SendMessageRequestHeaderV2:
    """SEND_MESSAGE_V2, SEND_BATCH_MESSAGE."""
    return SendMessageRequestHeaderV2(topic=topic, **{**_SENT, **fields})


def pull_header(
    group: str, topic: str, offset: int, *, queue_id: int = 0, most: int = 32, wait_millis: int = 0
) -> PullMessageRequestHeader:
    """PULL_MESSAGE for all messages, which commits nothing; held for so long if there is none."""
    return PullMessageRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=most,
        sys_flag=PullFlag.SUBSCRIPTION | (PullFlag.SUSPEND if wait_millis else 0),
        commit_offset=0,
        suspend_timeout_millis=wait_millis,
        subscription="*",
        sub_version=0,
    )


def topic_header(topic: str, queues: int, **fields: Any) -> CreateTopicRequestHeader:
    """UPDATE_AND_CREATE_TOPIC."""
    return CreateTopicRequestHeader(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        **fields,
    )


def heartbeat(
    consumers: Iterable[str],
    *,
    producers: Iterable[str] = (),
    topics: Iterable[str] = ("T",),
    client_id: str = "c1",
) -> bytes:
    """A client in these groups; all its consumers subscribe the topics."""
    wanted = [SubscriptionData(topic=topic, sub_string="*") for topic in topics]
    data = HeartbeatData(
        client_id=client_id,
        consumer_data_set=[
            ConsumerData(
                group_name=group,
                consume_type="CONSUME_PASSIVELY",
                message_model="CLUSTERING",
                consume_from_where="CONSUME_FROM_LAST_OFFSET",
                subscription_data_set=wanted,
            )
            for group in consumers
        ],
        producer_data_set=[ProducerData(group_name=group) for group in producers],
    )
    return encode_body(data)
