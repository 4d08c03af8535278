"""apache/rocketmq 3953: a retry topic with fewer queues than its group's `retryQueueNums`.

Tried: the retry topic was made with one queue, then the group got four; most of what its consumers sent back lay in
queues that no consumer is told of, for ever and without a word. Right: it lies in a queue that is read. The kind is
every queue that the broker chooses by something else than the topic as it is now.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker.produce.conftest import Producing, block
from tests.processors.conftest import Broker
from trimq.broker.config import BrokerConfig
from trimq.broker.delivery.delays import DelayService
from trimq.broker.produce.puts.timer_copies import TimerPuts
from trimq.broker.topics.queue_choice import existing_queue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.names import revive_topic
from trimq.store.messages.message import Message

RETRY = "%RETRY%CG"
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
TIMES = 40


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Producing]]:
    brokers: list[Broker] = []

    def make(**settings: Any) -> Producing:
        broker = Broker(tmp_path / "store", BrokerConfig(**settings))
        broker.store.open()
        brokers.append(broker)
        return Producing(broker)

    yield make
    for broker in brokers:
        broker.store.close()


def shape(producing: Producing, topic: str, read: int, write: int) -> None:
    producing.broker.topics.update(
        TopicConfig(topic_name=topic, read_queue_nums=read, write_queue_nums=write, perm=6)
    )


def real_queues(producing: Producing) -> set[str]:
    records = [
        record
        for level in (3, 4)
        for start in range(0, TIMES, 32)
        for record in producing.broker.records(SCHEDULE, level - 1, start)
    ]
    assert len(records) == TIMES
    return {
        dict(pair.split("\x01") for pair in record.properties.decode().split("\x02") if pair)[
            "REAL_QID"
        ]
        for record in records
    }


@pytest.mark.parametrize(
    ("read", "write", "wanted", "expected"),
    [
        (1, 1, 4, {"0"}),
        (2, 4, 4, {"0", "1"}),
        (4, 2, 4, {"0", "1"}),
        (4, 4, 4, {"0", "1", "2", "3"}),
        # Not more than the group wants, as in RocketMQ.
        (4, 4, 1, {"0"}),
        (4, 0, 4, {"0"}),
    ],
)
def test_what_is_sent_back_is_read(
    made: Any, read: int, write: int, wanted: int, expected: set[str]
) -> None:
    producing = made()
    original = producing.sent(e=0)
    producing.broker.store.write_staged()
    producing.send_back(0)
    producing.broker.groups.find("CG").retry_queue_nums = wanted
    shape(producing, RETRY, read, write)
    for _ in range(TIMES - 1):
        assert producing.send_back(0) is None
    assert original.queue_id == 0
    assert real_queues(producing) == expected


def delivered_queue(producing: Producing, topic: str, queue_id: int) -> int:
    """Where a message lies that waited in the wheel, in a delay level, or as a half message."""
    return int(producing.broker.elastic.maps.place(topic, queue_id))


def test_retries_come_back_to_a_queue_that_is_read(made: Any) -> None:
    """The topic was narrowed while they waited."""
    producing = made()
    shape(producing, RETRY, 2, 4)
    assert [delivered_queue(producing, RETRY, queue) for queue in range(4)] == [0, 1, 0, 1]
    # Of other topics it is the producers that choose: their consumers may be told of more queues later.
    shape(producing, "T", 2, 4)
    assert [delivered_queue(producing, "T", queue) for queue in range(6)] == [0, 1, 2, 3, 0, 1]
    assert delivered_queue(producing, "Deleted", 7) == 7


def test_a_timer_message_and_a_committed_one_too(made: Any) -> None:
    producing = made()
    shape(producing, "T", 2, 2)
    broker = producing.broker
    rules = broker.back._rules
    puts = TimerPuts(rules, broker.topics, broker.store, broker.elastic.maps)
    assert puts.stage(Message("T", 5, b"late"), {}) is None
    assert [record.body for record in broker.records("T", 1)] == [b"late"]


def test_a_broker_that_may_choose_takes_a_queue_that_is_read(made: Any) -> None:
    producing = made()
    shape(producing, "T", 1, 4)
    assert {producing.sent(e=-1).queue_id for _ in range(TIMES)} == {0}
    shape(producing, "T", 4, 0)
    assert "has no queue to write to" in str(producing.refused(e=-1).remark)


def test_dead_letters_and_popped_retries_lie_in_the_first_queue(made: Any) -> None:
    producing = made()
    producing.sent(e=0)
    producing.broker.store.write_staged()
    shape(producing, "%DLQ%CG", 1, 1)
    assert producing.send_back(0, delay_level=-1) is None
    assert len(producing.broker.records("%DLQ%CG")) == 1


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 40), st.booleans())
def test_there_is_always_a_queue(read: int, write: int, queue: int, retry: bool) -> None:
    name = RETRY if retry else "T"
    found = existing_queue(
        TopicConfig(topic_name=name, read_queue_nums=read, write_queue_nums=write), queue
    )
    if queue < read:
        assert found == queue
    elif read and write and retry:
        assert found < min(read, write)
    else:
        assert found < max(read, write, 1)


async def test_revive_queues_that_are_more_than_the_setting_says(made: Any) -> None:
    """reviveQueueNum was 8: what was popped then comes again, and may be acknowledged."""
    producing = made(revive_queue_num=2)
    broker = producing.broker
    producing.sent(e=0)
    broker.store.write_staged()
    reviving = broker.parts.services["put popped messages back"].__self__
    body = b'{"bm":0,"bn":"broker-a","c":"CG","it":1000,"n":1,"pt":%d,"q":0,"so":0,"t":"T"}'
    message = Message(revive_topic("DefaultCluster"), 7, body % broker.clock.now, b"TAGS\x01ck\x02")
    broker.store.put(message)
    broker.store.show(broker.store.flush())
    await reviving.round()
    assert reviving.open == 1
    acking = broker.parts.processors
    ack = next(one for one in acking if type(one).__name__ == "AckMessage")
    assert ack._acking._has_queue(7)
    assert not ack._acking._has_queue(6)


def test_levels_that_the_setting_does_not_have_any_more_are_named(
    made: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """messageDelayLevel was longer: nobody delivers what waits in the others."""
    producing = made()
    producing.sent(i=block(DELAY="5"))
    producing.broker.store.write_staged()
    levels = producing.broker.store_config.delay_levels[:3]
    clock, root = producing.broker.clock, producing.broker.store_config.root
    service = DelayService(BrokerConfig(), producing.broker.store, levels, root / "config", clock)
    service.load()
    assert "level=5 waiting=1" in caplog.text
