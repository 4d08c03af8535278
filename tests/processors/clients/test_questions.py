"""What operators ask consumers through the broker, and what they ask of the broker about clients."""

import json
from typing import Any

import pytest

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.clients import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetAllProducerInfoRequestHeader,
    GetConsumerRunningInfoRequestHeader,
)
from trimq.codec.headers.groups import QuerySubscriptionByConsumerRequestHeader
from trimq.codec.headers.topics import (
    QueryTopicConsumeByWhoRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)
from trimq.codec.records.message_id import offset_message_id
from trimq.processors.clients.consume_message_directly import ConsumeMessageDirectly
from trimq.processors.clients.get_all_producer_info import GetAllProducerInfo
from trimq.processors.clients.get_consumer_running_info import GetConsumerRunningInfo
from trimq.processors.clients.query_subscription_by_consumer import QuerySubscriptionByConsumer
from trimq.processors.clients.query_topic_consume_by_who import QueryTopicConsumeByWho
from trimq.processors.progress.query_topics_by_consumer import QueryTopicsByConsumer
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import RecordingPeer, answer, answered
from trimq.store.messages.message import Message


def join(broker: Any) -> RecordingPeer:
    """Client c of group g, which has subscribed T."""
    peer = RecordingPeer()
    data = ConsumerData(
        group_name="g", subscription_data_set=[SubscriptionData(topic="T", sub_string="*")]
    )
    broker.consumers.register(Client(peer, "c", 0, 513, broker.clock.now), data, False)
    return peer


async def running_info(broker: Any, client_id: str = "c") -> Any:
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group="g", client_id=client_id, jstack_enable=True
    )
    return await answer(broker.processor(GetConsumerRunningInfo), broker.request(307, header))


async def test_a_consumers_answer_is_passed_on(broker: Any) -> None:
    peer = join(broker)
    peer.answers.append(RemotingCommand(1, 5, remark="r", ext_fields={"k": "v"}, body=b"{}"))
    answer = await running_info(broker)
    assert (answer.code, answer.remark, answer.ext_fields, answer.body) == (
        1,
        "r",
        {"k": "v"},
        b"{}",
    )
    code, header, _ = peer.asked[0]
    assert (code, header.client_id, header.jstack_enable) == (307, "c", True)


@pytest.mark.parametrize("client_id", ["c", "other"])
async def test_a_missing_consumer(broker: Any, client_id: str) -> None:
    with pytest.raises(RemotingError) as refused:
        await running_info(broker, client_id)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == f"The Consumer <g> <{client_id}> not online"


async def test_a_consumer_that_does_not_answer_or_leaves(broker: Any) -> None:
    peer = join(broker)
    with pytest.raises(RemotingError, match="Timeout") as refused:
        await running_info(broker)
    assert refused.value.code == ResponseCode.CONSUME_MSG_TIMEOUT
    peer.closed = True
    with pytest.raises(RemotingError, match="is gone") as refused:
        await running_info(broker)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR


async def direct(broker: Any, message_id: str | None) -> Any:
    processor = broker.processor(ConsumeMessageDirectly)
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group="g", client_id="c", msg_id=message_id, topic="T"
    )
    return await answer(processor, broker.request(309, header))


async def test_consuming_one_message_now(broker: Any) -> None:
    peer = join(broker)
    broker.topics.update(TopicConfig(topic_name="T", topic_sys_flag=1, perm=6))
    appended = broker.store.put(Message("T", 0, b"hello"))
    peer.answers.append(RemotingCommand(0, 5, body=b"{}"))
    found = offset_message_id(broker.identity.packed_store_host, appended.physical_offset)
    assert (await direct(broker, found)).body == b"{}"
    code, header, body = peer.asked[0]
    assert code == RequestCode.CONSUME_MESSAGE_DIRECTLY
    assert (header.broker_name, header.topic_sys_flag) == (broker.config.broker_name, 1)
    assert header.group_sys_flag == 0
    assert body == broker.store.record_at(appended.physical_offset)


async def test_consuming_a_missing_message(broker: Any) -> None:
    join(broker)
    beyond = offset_message_id(broker.identity.packed_store_host, 1 << 40)
    with pytest.raises(RemotingError, match="can not find message"):
        await direct(broker, beyond)
    with pytest.raises(RemotingError, match="msgId"):
        await direct(broker, None)
    with pytest.raises(CodecError):
        await direct(broker, "00")


def test_producers_of_all_groups(broker: Any) -> None:
    processor = broker.processor(GetAllProducerInfo)
    request = broker.request(328, GetAllProducerInfoRequestHeader())
    assert answered(processor, request).body == b'{"data":{}}'
    broker.producers.register("p", Client(RecordingPeer(), "c1", 9, 317, broker.clock.now))
    assert json.loads(answered(processor, request).body)["data"] == {
        "p": [
            {
                "clientId": "c1",
                "language": "GO",
                "lastUpdateTimestamp": broker.clock.now,
                "remoteIP": "/127.0.0.1:40000",
                "version": 317,
            }
        ]
    }


def test_who_reads_what(broker: Any) -> None:
    join(broker)
    broker.offsets.commit("c", "h", "T", 0, 1)
    by_topic = broker.processor(QueryTopicConsumeByWho)
    header = QueryTopicConsumeByWhoRequestHeader(topic="T")
    assert answered(by_topic, broker.request(300, header)).body == b'{"groupList":["g","h"]}'
    by_group = broker.processor(QueryTopicsByConsumer)
    request = broker.request(343, QueryTopicsByConsumerRequestHeader(group="h"))
    assert json.loads(answered(by_group, request).body) == {
        "brokerAddr": "127.0.0.1:10911",
        "topicList": ["T"],
    }


def test_a_groups_subscription_to_nothing_in_particular(broker: Any) -> None:
    processor = broker.processor(QuerySubscriptionByConsumer)
    header = QuerySubscriptionByConsumerRequestHeader(group="g", topic=None)
    assert json.loads(processor.handle(broker.request(345, header)).body) == {"group": "g"}
    join(broker)
    with pytest.raises(RemotingError, match="set topic"):
        processor.handle(broker.request(345, header))


@pytest.mark.parametrize(("topic", "subscribed"), [("T", True), ("U", False)])
def test_a_groups_subscription(broker: Any, topic: str | None, subscribed: bool) -> None:
    join(broker)
    header = QuerySubscriptionByConsumerRequestHeader(group="g", topic=topic)
    answer = broker.processor(QuerySubscriptionByConsumer).handle(broker.request(345, header))
    body = json.loads(answer.body)
    assert body["group"] == "g"
    assert ("subscriptionData" in body) is subscribed
