"""ELASTIC_CREATE: what becomes elastic, who is gated with it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import PlanError, TopicMap
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.elastic_admin import ElasticCreate
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.processors.elastic.elastic_create import CreateElasticTopic
from trimq.remoting.contract import Later, RemotingError, Request, Response


class Home:
    """A broker's topics and locks; it is its own maps and gated groups."""

    def __init__(self, folder: Path) -> None:
        clock = Clock()
        self.topics = Topics(BrokerConfig(), folder, clock)
        self.locks = QueueLocks(clock)
        self.states: dict[str, TopicMap] = {}
        self.gated: list[tuple[str, str]] = []
        self.told = 0
        self.processor = CreateElasticTopic(
            BrokerConfig(), self.topics, self, self, self.locks, self.announced
        )

    def state(self, topic: str) -> TopicMap | None:
        return self.states.get(topic)

    def check_new(self, topic: str, first: TopicMap) -> None:
        if topic == "Refused":
            raise PlanError("not this one")

    def create(self, topic: str, first: TopicMap) -> None:
        self.states[topic] = first

    def gate(self, group: str, topic: str) -> int:
        assert topic in self.states
        self.gated.append((group, topic))
        return 0

    async def announced(self) -> None:
        self.told += 1

    async def ask(self, topic: str, queues: int, dry_run: bool = False) -> Response:
        body = encode_body(ElasticCreate(queues=queues, dry_run=dry_run))
        header = ElasticTopicRequestHeader(topic=topic)
        request = Request(990001, header, cast(Any, None), body)
        later = self.processor.handle(request)
        assert isinstance(later, Later)
        return await self.processor._answer(request)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def locked(home: Home, group: str, topic: str) -> None:
    home.locks.lock(group, [MessageQueue(topic=topic, broker_name="b", queue_id=0)], "client")


async def test_a_new_topic(home: Home) -> None:
    assert (await home.ask("New", 4)).code == 0
    assert home.states["New"].in_use == 4
    assert len(home.states["New"].queues) == 1000
    assert home.told == 1
    # Once more is no change; another number is.
    assert (await home.ask("New", 4)).code == 0
    with pytest.raises(RemotingError, match="scale it"):
        await home.ask("New", 5)


async def test_who_holds_locks_of_an_existing_topic_is_gated_with_it(home: Home) -> None:
    home.topics.update(TopicConfig(topic_name="Old", read_queue_nums=8, write_queue_nums=8))
    locked(home, "Readers", "Old")
    locked(home, "Others", "Else")
    await home.ask("Old", 0)
    assert home.states["Old"].in_use == 8
    assert home.gated == [("Readers", "Old")]


async def test_what_is_refused(home: Home) -> None:
    home.topics.update(TopicConfig(topic_name="Old", read_queue_nums=8, write_queue_nums=8))
    for topic, queues, why in (
        ("Old", 4, "has 8 queues"),
        ("New", 0, "must be 1 to 1000"),
        ("a b", 4, "illegal"),
        ("TBW102", 4, "conflict with system topic"),
    ):
        for dry_run in (True, False):
            with pytest.raises(RemotingError, match=why):
                await home.ask(topic, queues, dry_run)
    assert home.states == {}


async def test_a_dry_run_is_refused_as_ever_and_changes_nothing(home: Home) -> None:
    home.topics.update(TopicConfig(topic_name="Old", read_queue_nums=8, write_queue_nums=8))
    locked(home, "Readers", "Old")
    with pytest.raises(RemotingError, match="not this one"):
        await home.ask("Refused", 4, dry_run=True)
    for topic, queues in (("New", 4), ("Old", 0)):
        assert (await home.ask(topic, queues, dry_run=True)).code == 0
    assert (home.states, home.gated, home.told) == ({}, [], 0)
