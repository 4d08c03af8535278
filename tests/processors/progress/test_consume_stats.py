"""How far a group is in its topics."""

from typing import Any

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.headers import groups as headers
from trimq.codec.java import fastjson
from trimq.processors.progress.get_consume_stats import GetConsumeStats
from trimq.remoting.testing import answered


class Queues:
    """Every queue holds ten messages, stored at 1000 + offset."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        return 10

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        return 1000 + queue_offset


class Stats:
    def __init__(self, broker: Any) -> None:
        self.broker = broker
        for topic in ("T", "U"):
            broker.topics.create_in_send_back(topic, 1, 6, 0)
            broker.offsets.commit("c", "g", topic, 0, 4)
        broker.offsets.commit_pull("g", "T", 0, 8)
        self.processor = GetConsumeStats(
            broker.config,
            broker.topics,
            broker.consumers,
            broker.offsets,
            Queues(),
            broker.stats,
        )

    def ask(self, **asked: Any) -> dict[str, dict[str, int]]:
        header = headers.GetConsumeStatsRequestHeader(consumer_group="g", **asked)
        body = fastjson.loads(answered(self.processor, self.broker.request(208, header)).body)
        assert body["consumeTps"] == 0
        table = body["offsetTable"]
        return {fastjson.loads(queue)["topic"]: progress for queue, progress in table.items()}


def test_progress_of_a_group(broker: Any) -> None:
    stats = Stats(broker)
    assert stats.ask() == {
        "T": {"brokerOffset": 10, "consumerOffset": 4, "lastTimestamp": 1003, "pullOffset": 8},
        "U": {"brokerOffset": 10, "consumerOffset": 4, "lastTimestamp": 1003, "pullOffset": 4},
    }
    assert list(stats.ask(topic="U")) == ["U"]
    assert list(stats.ask(topic="nothing")) == []


def test_topics_that_are_not_subscribed_do_not_count_while_the_group_is_online(
    broker: Any,
) -> None:
    stats = Stats(broker)
    subscription = SubscriptionData(topic="U", sub_string="*")
    data = ConsumerData(group_name="g", subscription_data_set=[subscription])
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    assert list(stats.ask()) == ["U"]
    assert list(stats.ask(topic="T")) == []
    assert sorted(stats.ask(topic_list="T;U")) == ["T", "U"]
