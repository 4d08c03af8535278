"""A deletion reaches a slave as a deletion: what is only missing stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.conftest import Bench
from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.services.slave_deletions import SlaveDeletions
from trimq.broker.topics.deleted_topics import MOST, DeletedTopicNames
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.store.message_store import MessageStore


class Slave:
    def __init__(self, bench: Bench, home: Path) -> None:
        self.bench = bench
        self.store: MessageStore = bench.open()
        self.topics = Topics(BrokerConfig(broker_role="SLAVE"), home, Clock())
        self.topics.update(TopicConfig(topic_name="T"))
        self.derived = 1 << 40
        self.asked = 0
        self.deletions = SlaveDeletions(self.topics, self.store, lambda: self.derived)
        self.deletions.ask_soon = self.ask

    def ask(self) -> None:
        self.asked += 1

    def put(self, count: int) -> int:
        """Where the log ends then."""
        for _ in range(count):
            self.store.put(self.bench.message(b"m"))
        return self.store.max_physical_offset


@pytest.fixture
def slave(tmp_path: Path) -> Slave:
    return Slave(Bench(tmp_path / "store"), tmp_path)


def test_a_deletion(slave: Slave) -> None:
    slave.deletions.follow({"T": slave.put(3)}, {})
    assert "T" not in slave.topics
    assert slave.store.topics() == []


def test_nothing_was_deleted(slave: Slave) -> None:
    slave.put(3)
    slave.deletions.follow({"U": slave.store.max_physical_offset}, {})
    assert "T" in slave.topics
    assert slave.store.max_offset("T", 0) == 3


def test_it_was_made_anew_and_has_messages(slave: Slave) -> None:
    end = slave.store.max_physical_offset
    slave.put(3)
    slave.deletions.follow({"T": end}, {"T"})
    assert "T" in slave.topics
    assert slave.store.max_offset("T", 0) == 3


def test_it_was_made_anew_and_has_none(slave: Slave) -> None:
    slave.deletions.follow({"T": slave.put(3)}, {"T"})
    assert "T" in slave.topics
    assert slave.store.topics() == []


def test_the_log_is_not_there_yet(slave: Slave) -> None:
    end = slave.put(3)
    slave.derived = end - 1
    slave.deletions.follow({"T": end}, {})
    assert "T" in slave.topics
    assert slave.store.max_offset("T", 0) == 3
    assert slave.asked == 1


def test_a_master_remembers_so_many() -> None:
    deletions = DeletedTopicNames()
    deletions.log_end = lambda: 7
    for number in range(MOST + 5):
        deletions.note(f"T{number}")
    assert len(deletions.all()) == MOST
    assert deletions.all()[f"T{MOST + 4}"] == 7
