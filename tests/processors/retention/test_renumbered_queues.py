"""Whatever deletes a queue or numbers it anew, and whatever else counts by its offsets: each of the one with each of
the other. Who had read all before gets all that is sent afterwards.
"""

import os
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.detached import finished
from tests.processors.conftest import Broker
from tests.processors.static_topics import map_queue
from tests.store.cleaning import clean
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import Move, new_topic
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.codec.names import pop_retry_topic
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import parse_record
from trimq.processors.retention.clean_expired_consumequeue import CleanExpiredConsumequeue
from trimq.processors.retention.clean_unused_topic import CleanUnusedTopic
from trimq.processors.retention.delete_expired_commitlog import DeleteExpiredCommitlog
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message
from trimq.store.queues.reading.pull import ReadStatus

BEFORE = 20
# More than before: offsets from 0 on reach those of before.
AFTER = 30
LIGHT = "%LMQ%L"
KEY = {"KEYS": "k"}


class Life:
    """A broker on a store, opened again as often as one likes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.open()

    def open(self) -> None:
        self.broker = Broker(
            self.root,
            BrokerConfig(),
            mapped_file_size_commit_log=8192,
            file_reserved_time=0,
            delete_when=(),
            compaction_cq_mapped_file_size=4600,
            compaction_mapped_file_size=23000,
            enable_lmq=True,
            enable_multi_dispatch=True,
        )
        self.broker.store.open()
        self.broker.parts.load()
        self.broker.clock.now = 1 << 50

    def close(self, kill: bool = False) -> None:
        """`kill`: of the store; the tables are as they would be some seconds later."""
        self.broker.parts.close()
        if kill:
            self.broker.store.abandon()
        else:
            self.broker.store.close()

    def put(self, topic: str, count: int, first: int = 0, queue_id: int = 0) -> None:
        for number in range(first, first + count):
            properties = {"KEYS": f"k{number}"}
            message = Message(topic, queue_id, b"%d" % number, format_properties(properties))
            if topic == LIGHT:
                properties |= {"INNER_MULTI_DISPATCH": LIGHT}
                message = Message("Under", 0, b"%d" % number, format_properties(properties))
            self.broker.store.put(message)

    def expire(self) -> None:
        """All records so far go with their files."""
        self.put("Filler", 200)
        self.broker.store.flush()
        for file in sorted(self.broker.store_config.commit_log.iterdir()):
            os.utime(file, (1, 1))
        self.broker.processor(DeleteExpiredCommitlog).handle(self.broker.request(329, None))
        assert clean(self.broker.store)
        while self.broker.store.write_derived():
            pass


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    one = Life(tmp_path / "store")
    yield one
    one.close()


# --- what counts


class Counter:
    """An ordinary topic and a group that has read all of it."""

    topic = "T"
    attributes: ClassVar[dict[str, str]] = {}

    def make(self, life: Life) -> None:
        config = TopicConfig(topic_name=self.topic, attributes=dict(self.attributes))
        life.broker.topics.update(config)

    def send(self, life: Life, count: int, first: int = 0) -> None:
        life.put(self.topic, count, first)

    def has_read(self, life: Life) -> None:
        life.broker.offsets.commit("c", "G", self.topic, 0, BEFORE)

    async def unread(self, life: Life) -> list[bytes]:
        """What a member of the group gets now: it goes where it is told when its offset is none of the queue's."""
        store, found = life.broker.store, []
        store.show(store.flush())
        at = max(life.broker.offsets.query("G", self.topic, 0), 0)
        while True:
            read = store.read(self.topic, 0, at, 32, 1 << 20, None)
            stays = read.next_begin_offset == at or read.status is ReadStatus.OFFSET_OVERFLOW_ONE
            if stays and read.status not in (ReadStatus.FOUND, ReadStatus.OFFSET_TOO_SMALL):
                return found
            data = b"".join(store.load_blocking(read.extents))
            while data:
                record = parse_record(data)
                found.append(record.body)
                data = data[record.total_size :]
            at = read.next_begin_offset


class PopRetry(Counter):
    topic = pop_retry_topic("T", "G")


class Batches(Counter):
    topic = "B"
    attributes: ClassVar[dict[str, str]] = {"+queue.type": "BatchCQ"}


class Light(Counter):
    topic = LIGHT

    def make(self, life: Life) -> None:
        life.broker.topics.update(TopicConfig(topic_name="Under"))


class Static(Counter):
    topic = "S"

    def make(self, life: Life) -> None:
        map_queue(life.broker, (True, 0))


class Compacted(Counter):
    """The reader of a compacted topic."""

    topic = "C"
    attributes: ClassVar[dict[str, str]] = {"+cleanup.policy": "COMPACTION"}

    def files(self, life: Life) -> Any:
        (load,) = [part.load for part in life.broker.parts if part.name == "compaction"]
        return load.__self__

    async def all(self, life: Life, begin: int = 0) -> list[bytes]:
        found: list[bytes] = []
        while True:
            read = await self.files(life).read(self.topic, 0, begin, 32)
            stays = read.result.next_begin_offset >= begin
            begin = read.result.next_begin_offset
            if stays and read.result.status is not ReadStatus.FOUND:
                return found
            found += [parse_record(record).body for record in read.records]

    async def has_read_all(self, life: Life) -> None:
        assert len(await self.all(life)) == BEFORE

    async def unread(self, life: Life) -> list[bytes]:
        begin = max(life.broker.offsets.query("G", self.topic, 0), 0)
        return await self.all(life, begin)


class Elastic(Counter):
    """A queue that an elastic topic's change names an offset of; it gets messages again later."""

    topic = "E"

    def make(self, life: Life) -> None:
        maps = life.broker.elastic.maps
        if maps.state("E") is None:
            maps.create("E", new_topic(2, 2))
        else:
            life.broker.topics.update(
                TopicConfig(topic_name="E", read_queue_nums=3, write_queue_nums=2)
            )

    def has_read(self, life: Life) -> None:
        super().has_read(life)
        maps = life.broker.elastic.maps
        if maps.state("E").place(0) == 0:
            life.broker.topics.resize("E", 3, 2)
            maps.change("E", Move({0: 2}))


# --- what deletes


async def ask(life: Life, kind: type[Any], code: int) -> None:
    processor = life.broker.processor(kind)
    assert (await answer(processor, life.broker.request(code, None))).code == 0


async def expired_queues(life: Life, counter: Counter) -> None:
    """CLEAN_EXPIRED_CONSUMEQUEUE"""
    life.expire()
    await ask(life, CleanExpiredConsumequeue, 306)


async def expired_files(life: Life, counter: Counter) -> None:
    """DELETE_EXPIRED_COMMITLOG"""
    life.expire()


async def unused_topics(life: Life, counter: Counter) -> None:
    """CLEAN_UNUSED_TOPIC: the table of topics was lost, or is an older one."""
    life.expire()
    life.broker.topics.delete(counter.topic)
    await ask(life, CleanUnusedTopic, 316)
    counter.make(life)


async def deleted(life: Life, counter: Counter) -> None:
    """DELETE_TOPIC_IN_BROKER, and made again."""
    header = DeleteTopicRequestHeader(topic=counter.topic)
    await finished(life.broker.processor(DeleteTopicInBroker), life.broker.request(215, header))
    counter.make(life)


def lost(kill: bool, folder: str = "") -> Callable[[Life, Counter], Awaitable[None]]:
    async def lose(life: Life, counter: Counter) -> None:
        life.expire()
        life.close(kill)
        for root in ("consumequeue", "batchconsumequeue"):
            name = counter.topic if folder else ""
            shutil.rmtree(life.root / root / name, ignore_errors=True)
        life.open()

    return lose


async def opened_again(life: Life, counter: Counter) -> None:
    life.expire()
    life.close()
    life.open()


async def killed(life: Life, counter: Counter) -> None:
    life.expire()
    life.close(kill=True)
    life.open()


DELETERS = {
    "expired queues": expired_queues,
    "expired files": expired_files,
    "unused topics": unused_topics,
    "deleted": deleted,
    "consumequeue lost": lost(kill=False),
    "consumequeue lost in a crash": lost(kill=True),
    "topic's folder lost": lost(kill=False, folder="topic"),
    "topic's folder lost in a crash": lost(kill=True, folder="topic"),
    "opened again": opened_again,
    "killed": killed,
}
COUNTERS = [Counter(), PopRetry(), Batches(), Light(), Static(), Compacted(), Elastic()]


@pytest.mark.parametrize("deleter", DELETERS)
@pytest.mark.parametrize("counter", COUNTERS, ids=lambda one: type(one).__name__)
async def test_all_that_is_sent_afterwards_is_read(
    life: Life, counter: Counter, deleter: str
) -> None:
    counter.make(life)
    counter.send(life, BEFORE)
    if isinstance(counter, Compacted):
        await counter.has_read_all(life)
    counter.has_read(life)
    assert await counter.unread(life) == []
    await DELETERS[deleter](life, counter)
    assert await counter.unread(life) == []
    counter.send(life, AFTER, first=100)
    sent = [b"%d" % number for number in range(100, 100 + AFTER)]
    assert await counter.unread(life) == sent
    # And after a kill, which has the queues' ends read from the log again.
    life.close(kill=True)
    life.open()
    assert await counter.unread(life) == sent
