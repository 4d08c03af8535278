"""Who is connected, queue locks and the check before a start."""

import json
from typing import Any

import pytest

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.heartbeat import CheckClientRequestBody, ConsumerData, SubscriptionData
from trimq.codec.bodies.locks import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from trimq.codec.codes import LanguageCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.clients import (
    GetConsumerListByGroupRequestHeader,
    GetProducerConnectionListRequestHeader,
    ListConnectionsAndMembersRequestHeader,
)
from trimq.processors.clients.check_client_config import CheckClientConfig
from trimq.processors.clients.get_consumer_connection_list import GetConsumerConnectionList
from trimq.processors.clients.get_consumer_list_by_group import GetConsumerListByGroup
from trimq.processors.clients.get_producer_connection_list import GetProducerConnectionList
from trimq.processors.clients.lock_batch_mq import LockBatchMq
from trimq.processors.clients.unlock_batch_mq import UnlockBatchMq
from trimq.remoting.contract import RemotingError, Request
from trimq.remoting.testing import RecordingPeer, answer, answered

QUEUE = MessageQueue(broker_name="b", queue_id=1, topic="T")


def join(broker: Any, name: str, language: int = LanguageCode.GO, expression: str = "*") -> None:
    peer = RecordingPeer(f"10.0.0.{ord(name[-1])}:4000", ord(name[-1]))
    data = ConsumerData(
        group_name="g",
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_FIRST_OFFSET",
        subscription_data_set=[SubscriptionData(topic="T", sub_string=expression, sub_version=9)],
    )
    broker.consumers.register(Client(peer, name, language, 317, broker.clock.now), data, True)


def test_the_consumer_list_holds_client_ids(broker: Any) -> None:
    processor = broker.processor(GetConsumerListByGroup)
    request = broker.request(38, GetConsumerListByGroupRequestHeader(consumer_group="g"))
    with pytest.raises(RemotingError) as refused:
        processor.handle(request)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "no consumer for this group, g"
    join(broker, "c1")
    join(broker, "c2")
    assert processor.handle(request).body == b'{"consumerIdList":["c1","c2"]}'


def test_consumer_connections(broker: Any) -> None:
    processor = broker.processor(GetConsumerConnectionList)
    request = broker.request(203, ListConnectionsAndMembersRequestHeader(consumer_group="g"))
    with pytest.raises(RemotingError) as refused:
        answered(processor, request)
    assert refused.value.code == ResponseCode.CONSUMER_NOT_ONLINE
    assert refused.value.remark == "the consumer group[g] not online"
    join(broker, "c1", language=99)
    join(broker, "c2")
    body = json.loads(answered(processor, request).body)
    assert body["connectionSet"] == [
        {"clientAddr": "10.0.0.49:4000", "clientId": "c1", "version": 317},
        {"clientAddr": "10.0.0.50:4000", "clientId": "c2", "language": "GO", "version": 317},
    ]
    assert body["subscriptionTable"]["T"]["subVersion"] == 9
    assert body["consumeFromWhere"] == "CONSUME_FROM_FIRST_OFFSET"
    assert (body["consumeType"], body["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")


def test_what_each_member_wants_is_answered_on_request(broker: Any) -> None:
    processor = broker.processor(GetConsumerConnectionList)

    def told(**asked: Any) -> dict[str, Any]:
        header = ListConnectionsAndMembersRequestHeader(consumer_group="g", **asked)
        answer: dict[str, Any] = json.loads(answered(processor, broker.request(203, header)).body)
        return answer

    start = broker.clock.now
    join(broker, "c1")
    broker.clock.now += 500
    join(broker, "c2", expression="A")
    plain, full = told(), told(with_members=True)
    assert sorted(plain) == [
        "connectionSet",
        "consumeFromWhere",
        "consumeType",
        "messageModel",
        "subscriptionTable",
    ]
    assert {key: full[key] for key in plain} == plain == told(with_members=False)
    assert full["disputes"] == [{"about": "topic", "since": start + 500, "topic": "T"}]
    members = [(one["clientId"], one["since"]) for one in full["members"]]
    assert members == [("c1", start), ("c2", start + 500)]
    assert [one["subscriptions"][0]["subString"] for one in full["members"]] == ["*", "A"]
    assert full["overwrites"] == []


def test_producer_connections(broker: Any) -> None:
    processor = broker.processor(GetProducerConnectionList)
    request = broker.request(204, GetProducerConnectionListRequestHeader(producer_group="p"))
    with pytest.raises(RemotingError) as refused:
        answered(processor, request)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "the producer group[p] not exist"
    broker.producers.register("p", Client(RecordingPeer(), "c1", 0, 513, broker.clock.now))
    assert json.loads(answered(processor, request).body) == {
        "connectionSet": [
            {"clientAddr": "127.0.0.1:40000", "clientId": "c1", "language": "JAVA", "version": 513}
        ]
    }


def test_locking_and_unlocking(broker: Any) -> None:
    lock, unlock = broker.processor(LockBatchMq), broker.processor(UnlockBatchMq)

    def locked(client: str) -> set[MessageQueue]:
        body = LockBatchRequestBody(client_id=client, consumer_group="g", mq_set={QUEUE})
        answer = lock.handle(broker.request(41, None, encode_body(body)))
        return decode_body(LockBatchResponseBody, answer.body).lock_ok_mq_set

    assert locked("a") == {QUEUE}
    assert locked("b") == set()
    body = UnlockBatchRequestBody(client_id="a", consumer_group="g", mq_set={QUEUE})
    assert unlock.handle(broker.request(42, None, encode_body(body))).code == 0
    assert locked("b") == {QUEUE}
    nothing = broker.request(41, None, b'{"consumerGroup":"g"}')
    assert lock.handle(nothing).body == b'{"lockOKMQSet":[]}'
    nameless = encode_body(LockBatchRequestBody(consumer_group="g", mq_set={QUEUE}))
    with pytest.raises(CodecError):
        lock.handle(broker.request(41, None, nameless))
    assert unlock.handle(broker.request(42, None, nameless)).code == 0


@pytest.mark.parametrize("kind", [None, "", "TAG"])
def test_tags_may_always_be_subscribed(broker: Any, kind: str | None) -> None:
    wanted = SubscriptionData(topic="T", sub_string="A", expression_type=kind)
    body = encode_body(CheckClientRequestBody(subscription_data=wanted))
    for text in (body, b"", b"{}"):
        processor = broker.processor(CheckClientConfig)
        assert processor.handle(broker.request(46, None, text)).code == 0


def check(broker: Any, expression: str | None, kind: str = "SQL92") -> Request:
    wanted = SubscriptionData(topic="T", sub_string=expression, expression_type=kind)
    return broker.request(46, None, encode_body(CheckClientRequestBody(subscription_data=wanted)))


async def test_other_filters_have_to_be_allowed(broker: Any) -> None:
    for expression in ("a > 1", "a >", None):
        with pytest.raises(RemotingError) as refused:
            await answer(broker.processor(CheckClientConfig), check(broker, expression))
        assert refused.value.code == ResponseCode.SYSTEM_ERROR
        assert refused.value.remark == (
            "The broker does not support consumer to filter message by SQL92"
        )


async def test_other_filters_have_to_be_readable(make_broker: Any) -> None:
    broker = make_broker(enable_property_filter=True)
    processor = broker.processor(CheckClientConfig)
    for _ in range(2):
        assert (await answer(processor, check(broker, "a > 1"))).code == 0
    for expression, kind, said in (
        ("a >", "SQL92", "Invalid MessageSelector. at the end: expected "),
        ("", "SQL92", "Invalid MessageSelector. at the end: expected "),
        ("a", "ELVISH", "Invalid MessageSelector. there is no filter of the type ELVISH"),
        (None, "SQL92", "an expression of the type SQL92 is missing"),
    ):
        with pytest.raises(RemotingError) as refused:
            await answer(processor, check(broker, expression, kind))
        assert refused.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
        assert refused.value.remark is not None
        assert refused.value.remark.startswith(said)
