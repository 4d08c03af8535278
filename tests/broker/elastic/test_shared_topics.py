"""A topic of ours that another broker takes messages of as well."""

import logging

import pytest

from tests.identities import named
from trimq.broker.elastic.shared_topics import SharedTopics
from trimq.codec.bodies.locks import MessageQueue


class Cluster:
    """Topics, each with the brokers that its route names."""

    def __init__(self) -> None:
        self.brokers: dict[str, list[str]] = {"Alone": ["a"], "Both": ["a", "b"]}

    def topics(self) -> list[str]:
        return [*self.brokers, "Unknown"]

    async def writable_queues(self, topic: str) -> list[MessageQueue] | None:
        names = self.brokers.get(topic)
        if names is None:
            return None
        return [MessageQueue(broker_name=name, queue_id=0, topic=topic) for name in names]


async def test_topics_on_another_broker_are_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    shared_topics = SharedTopics(cluster, cluster, named("a"))
    assert shared_topics.count == 0
    with caplog.at_level(logging.WARNING, "trimq.elastic"):
        await shared_topics.look()
        await shared_topics.look()
    assert shared_topics.count == 1
    (line,) = caplog.messages
    assert "topic=Both others=b" in line
    cluster.brokers["Both"] = ["a"]
    await shared_topics.look()
    assert shared_topics.count == 0
