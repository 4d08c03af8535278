"""Deleting on request: old commit-log files, queues without messages, queues without a topic."""

from typing import Any

import pytest

from tests.store.cleaning import clean
from trimq.codec.bodies.topics import TopicConfig
from trimq.processors.retention.clean_expired_consumequeue import CleanExpiredConsumequeue
from trimq.processors.retention.clean_unused_topic import CleanUnusedTopic
from trimq.processors.retention.delete_expired_commitlog import DeleteExpiredCommitlog
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answer
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

DONE = (0, None)
SYSTEM_TOPIC = "SCHEDULE_TOPIC_XXXX"


def put(broker: Any, topic: str, count: int = 1, queue_id: int = 0) -> None:
    for _ in range(count):
        broker.store.put(Message(topic, queue_id, bytes(1000)))


@pytest.fixture
def broker(make_broker: Any) -> Any:
    """Four messages fill a commit-log file."""
    broker = make_broker(mapped_file_size_commit_log=5000, delete_when=(), file_reserved_time=0)
    broker.clock.now = 1 << 50
    return broker


def delete_files(broker: Any) -> int:
    """All but the last commit-log file."""
    broker.store.flush()
    broker.processor(DeleteExpiredCommitlog).handle(broker.request(329, None))
    return clean(broker.store)


async def ask(processor: Any, broker: Any, code: int) -> tuple[int, str | None]:
    response = await answer(processor, broker.request(code, None))
    return response.code, response.remark


def test_old_files_go_when_an_operator_asks(broker: Any) -> None:
    put(broker, "T", 10)
    broker.store.flush()
    assert clean(broker.store) == 0
    processor = broker.processor(DeleteExpiredCommitlog)
    response = processor.handle(broker.request(329, None))
    assert (response.code, response.remark) == DONE
    assert clean(broker.store) == 2
    assert broker.store.min_offset("T", 0) == 8


async def test_queues_whose_messages_are_gone_start_again(broker: Any) -> None:
    put(broker, "Gone", 3)
    put(broker, "Half", 3)
    put(broker, SYSTEM_TOPIC, 3)
    put(broker, "Half", 8, queue_id=1)
    delete_files(broker)
    processor = broker.processor(CleanExpiredConsumequeue)
    while broker.store.write_derived():
        pass
    assert await ask(processor, broker, 306) == DONE
    store = broker.store
    assert store.topics() == ["Half", SYSTEM_TOPIC]
    assert store.queues("Half") == [1]
    assert (store.min_offset(SYSTEM_TOPIC, 0), store.max_offset(SYSTEM_TOPIC, 0)) == (3, 3)
    put(broker, "Gone")
    assert (store.min_offset("Gone", 0), store.max_offset("Gone", 0)) == (0, 1)


async def test_batch_queues_whose_messages_are_gone_start_again(broker: Any) -> None:
    for topic in ("GoneBatches", "HalfBatches"):
        broker.store.declare_queue_type(topic, "BatchCQ")
        put(broker, topic, 3)
    put(broker, "T", 6)
    put(broker, "HalfBatches", 1, queue_id=1)
    delete_files(broker)
    while broker.store.write_derived():
        pass
    processor = broker.processor(CleanExpiredConsumequeue)
    assert await ask(processor, broker, 306) == DONE
    store = broker.store
    assert store.topics() == ["HalfBatches"]
    assert store.queues("HalfBatches") == [1]
    assert not (broker.store_config.batch_consume_queue / "GoneBatches").exists()
    # Still of that type, as the topic table says.
    put(broker, "GoneBatches")
    assert (store.min_offset("GoneBatches", 0), store.max_offset("GoneBatches", 0)) == (0, 1)
    assert await ask(processor, broker, 306) == DONE
    assert store.queues("GoneBatches") == [0]


async def test_queues_of_topics_without_config_go(broker: Any) -> None:
    broker.topics.update(TopicConfig(topic_name="Known"))
    for topic in ("Known", "Unknown", SYSTEM_TOPIC, "rmq_sys_x", "%LMQ%light"):
        put(broker, topic)
    processor = broker.processor(CleanUnusedTopic)
    assert await ask(processor, broker, 316) == DONE
    assert broker.store.topics() == ["%LMQ%light", "Known", SYSTEM_TOPIC, "rmq_sys_x"]
    assert not (broker.store_config.consume_queue / "Unknown").exists()


async def test_a_disk_that_fails_is_reported(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(broker, "Unknown")

    def failing(*arguments: Any) -> Any:
        raise StoreError("the disk failed")

    monkeypatch.setattr(broker.store.deletion, "take_out", failing)
    monkeypatch.setattr(broker.store.trimming, "delete_if_idle", failing)
    monkeypatch.setattr(broker.store.trimming, "find_idle", lambda *_: ["Unknown"])
    monkeypatch.setattr(broker.store, "queues", lambda topic: [0])
    for code, processor in (
        (306, broker.processor(CleanExpiredConsumequeue)),
        (316, broker.processor(CleanUnusedTopic)),
    ):
        with pytest.raises(RemotingError, match="the disk failed"):
            await ask(processor, broker, code)
