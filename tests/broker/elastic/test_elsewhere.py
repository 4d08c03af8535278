"""A topic of ours that another broker takes messages of as well."""

import logging

import pytest

from trimq.broker.elastic.elsewhere import Elsewhere
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
    elsewhere = Elsewhere(cluster, cluster, "a")
    assert elsewhere.count == 0
    with caplog.at_level(logging.WARNING, "trimq.elastic"):
        await elsewhere.look()
        await elsewhere.look()
    assert elsewhere.count == 1
    (line,) = caplog.messages
    assert "topic=Both others=b" in line
    cluster.brokers["Both"] = ["a"]
    await elsewhere.look()
    assert elsewhere.count == 0
