"""Entries of a consume queue."""

import json
from typing import Any

import pytest

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.headers.offsets import QueryConsumeQueueRequestHeader
from trimq.processors.messages.query_consume_queue import QueryConsumeQueue
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answered
from trimq.store.messages.message import Message


class Entries:
    """QUERY_CONSUME_QUEUE on a queue with three messages."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        for _ in range(3):
            broker.store.put(Message("T", 0, b"x", b"TAGS\x01A\x02"))
        self.processor = broker.processor(QueryConsumeQueue)

    def ask(self, **fields: Any) -> Any:
        values = {"topic": "T", "queue_id": 0, "index": 0, "count": 10, **fields}
        header = QueryConsumeQueueRequestHeader(**values)
        return answered(self.processor, self.broker.request(321, header))


def test_entries_of_a_consume_queue(broker: Any) -> None:
    entries = Entries(broker)
    body = json.loads(entries.ask(index=1).body)
    assert (body["minQueueIndex"], body["maxQueueIndex"]) == (0, 3)
    size = body["queueData"][0]["physicSize"]
    assert [entry["physicOffset"] for entry in body["queueData"]] == [size, 2 * size]
    assert body["queueData"][0]["tagsCode"] == ord("A")
    assert len(json.loads(entries.ask(count=2).body)["queueData"]) == 2
    assert json.loads(entries.ask(count=0).body)["queueData"] == []


def test_missing_entries(broker: Any) -> None:
    entries = Entries(broker)
    for index in (3, -1):
        answer = entries.ask(index=index)
        assert (answer.code, answer.body) == (0, b"")
        assert answer.remark == f"Index {index} of 0@T is not exist!"
    with pytest.raises(RemotingError, match="1@T is not exist!"):
        entries.ask(queue_id=1)


def test_entries_with_the_groups_subscription(broker: Any) -> None:
    entries = Entries(broker)
    body = json.loads(entries.ask(consumer_group="g").body)
    assert body["filterData"] == "g@T is not online!"
    data = ConsumerData(group_name="g", subscription_data_set=[SubscriptionData(topic="T")])
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    body = json.loads(entries.ask(consumer_group="g").body)
    assert body["subscriptionData"]["topic"] == "T"
    assert body["filterData"] == "null"


def test_a_batch_has_one_entry(broker: Any) -> None:
    broker.store.declare_queue_type("B", "BatchCQ")
    flags = 1 << 7
    for _ in range(2):
        broker.store.put(Message("B", 0, b"x", b"INNER_NUM\x013\x02", sys_flag=flags))
    entries = Entries(broker)
    body = json.loads(entries.ask(topic="B", count=6).body)
    assert len(body["queueData"]) == 2
