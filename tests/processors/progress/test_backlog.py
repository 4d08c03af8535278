"""How far all groups are behind."""

from typing import Any

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.headers.groups import (
    GetConsumeStatsInBrokerHeader,
)
from trimq.codec.java import fastjson
from trimq.processors.progress.get_broker_consume_stats import GetBrokerConsumeStats
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message


async def test_backlog_of_all_groups(broker: Any) -> None:
    for topic, ordered in (("T", False), ("O", True), ("Left", False)):
        broker.topics.update(
            TopicConfig(topic_name=topic, write_queue_nums=1, perm=6, order=ordered)
        )
        broker.store.put(Message(topic, 0, b"x"))
        broker.store.put(Message(topic, 0, b"x"))
        broker.offsets.commit("c", "g", topic, 0, 1)
    broker.offsets.commit("c", "g", "Unknown", 0, 1)
    broker.groups.find("g")
    subscriptions = [SubscriptionData(topic=topic, sub_string="*") for topic in ("T", "O")]
    data = ConsumerData(group_name="g", subscription_data_set=subscriptions)
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    processor = broker.processor(GetBrokerConsumeStats)

    async def ask(only_ordered: bool) -> Any:
        header = GetConsumeStatsInBrokerHeader(is_order=only_ordered)
        return fastjson.loads((await answer(processor, broker.request(317, header))).body)

    body = await ask(False)
    assert (body["totalDiff"], body["totalInflightDiff"]) == (2, -2)
    assert body["brokerAddr"] == "127.0.0.1:10911"
    groups = {name: found for group in body["consumeStatsList"] for name, found in group.items()}
    assert len(groups["g"]) == 2
    (progress,) = groups["g"][0]["offsetTable"].values()
    assert progress == {
        "brokerOffset": 2,
        "consumerOffset": 1,
        "lastTimestamp": broker.clock.now,
        "pullOffset": 0,
    }
    assert groups["TOOLS_CONSUMER"] == []
    assert (await ask(True))["totalDiff"] == 1
