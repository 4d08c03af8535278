"""Requests that hostile tests are made of."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from trimq.codec.headers.send import SendMessageRequestHeader


def send_header(topic: str, queue_id: int = 0) -> SendMessageRequestHeader:
    return SendMessageRequestHeader(
        producer_group="g",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=queue_id,
        sys_flag=0,
        born_timestamp=1,
        flag=0,
    )


def heartbeat(consumers: list[str], producers: list[str] | None = None, topic: str = "T") -> bytes:
    """A client in these groups; all its consumers subscribe the topic."""
    data = HeartbeatData(
        client_id="hostile",
        consumer_data_set=[
            ConsumerData(
                group_name=group,
                consume_type="CONSUME_PASSIVELY",
                message_model="CLUSTERING",
                consume_from_where="CONSUME_FROM_LAST_OFFSET",
                subscription_data_set=[SubscriptionData(topic=topic, sub_string="*")],
            )
            for group in consumers
        ],
        producer_data_set=[ProducerData(group_name=group) for group in producers or []],
    )
    return encode_body(data)
