"""A broker's compaction topics: what pulls get, and what is left after a restart and a deletion."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.patience import until_in_trio
from tests.store.cleaning import steps_of_round, steps_of_trimming, write_all
from trimq.base.clock import TrioClock
from trimq.broker.compaction.compaction import Compaction
from trimq.broker.config import BrokerConfig
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.queues.reading.pull import ReadStatus

SMALL: dict[str, Any] = {
    "compaction_cq_mapped_file_size": 460,
    "compaction_mapped_file_size": 2300,
    "compaction_schedule_internal": 1,
    "mapped_file_size_commit_log": 4096,
}


class Side:
    """A broker's store and its compaction, opened again as often as one likes."""

    def __init__(self, root: Path) -> None:
        self.config = StoreConfig(root=root, **SMALL)
        self.now = 1_700_000_000_000
        self.is_master = True
        self.open()

    def open(self) -> None:
        self.store = MessageStore(self.config, lambda: self.now)
        self.store.open()
        self.topics = Topics(BrokerConfig(), self.config.root / "config", TrioClock(self.now))
        self.topics.load()
        self.compaction = Compaction(self.config, self.store, self.topics, self.is_master)
        self.compaction.load()

    def create(self, topic: str = "T") -> None:
        attributes = {"+cleanup.policy": "COMPACTION"}
        self.topics.update(TopicConfig(topic_name=topic, attributes=attributes))

    def put(self, key: str, body: bytes, topic: str = "T") -> None:
        properties = format_properties({"KEYS": key} if key else {})
        self.store.put(Message(topic, 0, body, properties))

    async def bodies(self, begin: int = 0) -> list[bytes]:
        found: list[bytes] = []
        while True:
            read = await self.compaction.read("T", 0, begin, 32)
            if read.result.status != ReadStatus.FOUND:
                return found
            found += [parse_record(record).body for record in read.records]
            begin = read.result.next_begin_offset

    def close(self) -> None:
        self.compaction.close()
        self.topics.close()
        self.store.close()


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[Side]:
    one = Side(tmp_path / "store")
    one.create()
    yield one
    one.close()


async def test_what_was_sent_is_pulled_at_once(side: Side) -> None:
    for number in range(40):
        side.put(f"k{number}", b"%d" % number)
    assert await side.bodies() == [b"%d" % number for number in range(40)]
    assert await side.bodies(35) == [b"%d" % number for number in range(35, 40)]


async def test_nothing_is_made_for_a_topic_without_messages(side: Side) -> None:
    read = await side.compaction.read("T", 0, 0, 32)
    assert read.result.status == ReadStatus.NO_MESSAGE_IN_QUEUE
    assert not (side.config.root / "compaction").exists()


async def test_messages_outlive_their_log_file(side: Side) -> None:
    side.put("rare", b"first")
    await side.bodies()
    for _ in range(60):
        side.put("often", b"x" * 200)
    side.store.flush()
    write_all(side.store)
    for file in side.config.commit_log.iterdir():
        os.utime(file, (1, 1))
    side.store.cleaning.order()
    for _ in (*steps_of_round(side.store), *steps_of_trimming(side.store)):
        pass
    assert side.store.first_in_log("T", 0) > 0
    assert side.store.min_offset("T", 0) == 0
    assert (await side.bodies())[0] == b"first"


async def test_rewritten_when_its_time_has_come(
    side: Side, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(act: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        return act(*arguments)

    # Threads take real time.
    monkeypatch.setattr(trio.to_thread, "run_sync", at_once)
    for number in range(60):
        side.put(f"k{number % 3}", b"%d" % number)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(side.compaction.keep_copied)
        nursery.start_soon(side.compaction.keep_rewritten)
        await until_in_trio(lambda: side.compaction.rewritten, pause=1)
        nursery.cancel_scope.cancel()
    found = await side.bodies()
    assert len(found) < 30
    assert found[-3:] == [b"57", b"58", b"59"]


@pytest.mark.parametrize("kill", [False, True])
async def test_opened_again(side: Side, kill: bool) -> None:
    for number in range(20):
        side.put(f"k{number}", b"%d" % number)
    await side.bodies()
    for number in range(20, 25):
        side.put(f"k{number}", b"%d" % number)
    if kill:
        side.store.abandon()
    else:
        side.close()
    side.open()
    assert await side.bodies() == [b"%d" % number for number in range(25)]


async def test_a_topic_that_is_made_again_begins_anew(side: Side) -> None:
    for number in range(20):
        side.put("k", b"old %d" % number)
    await side.bodies()
    side.topics.delete("T")
    side.store.delete_topic("T")
    side.create()
    side.put("k", b"new")
    assert await side.bodies() == [b"new"]


async def test_keyless_messages_are_passed_over(side: Side) -> None:
    side.put("k", b"1")
    side.put("", b"no key")
    read = await side.compaction.read("T", 0, 1, 32)
    assert read.result.status == ReadStatus.OFFSET_OVERFLOW_ONE
    # A pull waits for what comes after it.
    assert read.end == 2


@pytest.mark.parametrize("left", [0, 1, 13, 39])
async def test_what_is_cut_off_the_log_is_gone_here_too(side: Side, left: int) -> None:
    ends = [0]
    for number in range(40):
        side.put(f"k{number}", b"old %d" % number)
        ends.append(side.store.max_physical_offset)
    assert len(await side.bodies()) == 40
    side.store.cut(ends[left])
    side.compaction.recover(side.store.max_physical_offset)
    kept = [b"old %d" % number for number in range(left)]
    assert await side.bodies() == kept
    for number in range(3):
        side.put(f"k{number}", b"new %d" % number)
    kept += [b"new %d" % number for number in range(3)]
    assert await side.bodies() == kept
    side.close()
    side.open()
    assert await side.bodies() == kept
