"""A whole broker without sockets, on a mock clock, that is left far behind, killed and started again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from tests.broker.produce.conftest import block, header_of
from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import Move, new_topic
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import parse_record
from trimq.processors.transactions.end_transaction import EndTransaction
from trimq.store.messages.message import Message
from trimq.store.opening.recovery_points import LOOKS, Debt

BOUND = 256 * 1024
# Nobody is told to hurry, whatever the interval.
UNBOUND = 1 << 40
SECOND = 1000
COMMIT = 8
HOUR = 3_600_000


class Running:
    """One process of a broker; everything that it wrote stays when it is killed."""

    def __init__(self, root: Path, bound: int) -> None:
        # What is written by time alone is not written here.
        settings: dict[str, Any] = {
            "recovery_bytes": bound,
            "flush_interval_consume_queue": HOUR,
            "flush_consume_queue_thorough_interval": HOUR,
            "timer_flush_interval_ms": HOUR,
            "compaction_schedule_internal": HOUR,
            "max_hash_slot_num": 1000,
            "max_index_num": 100_000,
        }
        config = BrokerConfig(
            flush_consumer_offset_interval=HOUR, revive_queue_num=2, pop_from_retry_probability=0
        )
        self.root = root
        self.broker = Broker(root, config, TrioClock(), **settings)
        self.store = self.broker.store
        self.store.open()
        self.broker.parts.load()
        self.points = self.store.recovery_points
        self.scope = trio.CancelScope()
        self.pops = PopClient(self.broker)
        self.broker.groups.find("G", "1.2.3.4:5")
        self.settle()

    def settle(self) -> None:
        """Who makes a topic or a group is not answered before it is in its file."""
        for part in self.broker.parts:
            if part.name in {"topics", "groups"} and part.close is not None:
                part.close()

    async def serve(self) -> None:
        """Until it is killed: all services of a master."""
        with self.scope:
            async with trio.open_nursery() as nursery:
                for service in self.broker.parts.services_of(False).values():
                    nursery.start_soon(service)

    async def kill(self) -> None:
        self.scope.cancel()
        await trio.sleep(0.01)
        self.broker.parts.services["flush the timer wheel"].__self__._files.close()
        self.store.abandon()

    def debt(self, name: str) -> Debt:
        (point,) = [point for point in self.points if point.name == name]
        return self.points.debt(point)

    # --- what clients do

    def put(self, body: bytes, key: str = "", topic: str = "T") -> None:
        properties = format_properties({"KEYS": key} if key else {})
        self.store.put(Message(topic, 0, body, properties))

    def put_timer(self, body: bytes, millis: int, number: int) -> None:
        message = Message("T", 0, body)
        due = self.broker.clock.millis() + millis
        block = {"UNIQ_KEY": f"U{number}", "TIMER_DELIVER_MS": str(due)}
        self.broker.sending._rules.apply(message, block, None)
        self.store.put(message)

    def put_half(self, number: int) -> None:
        text = block(UNIQ_KEY=f"U{number}", TRAN_MSG="true", PGROUP="PG")
        header = header_of(b="T", e=0, i=text, g=self.broker.clock.millis())
        self.broker.sending.send(header, b"%d" % number, self.broker.peer, 513)
        self.broker.parts.end_of_receive()

    def end_half(self) -> None:
        """The last one that was put, by its producer."""
        last = self.store.max_offset(TRANS_HALF_TOPIC, 0) - 1
        entry = self.store.queue_entry(TRANS_HALF_TOPIC, 0, last)
        assert entry is not None
        header = EndTransactionRequestHeader(
            topic="T",
            producer_group="PG",
            tran_state_table_offset=last,
            commit_log_offset=entry.physical_offset,
            commit_or_rollback=COMMIT,
            msg_id="",
        )
        processor = self.broker.processor(EndTransaction)
        decoded = processor.decode_header(encode_header(header))
        processor.handle(self.broker.request(RequestCode.END_TRANSACTION, decoded))
        self.broker.parts.end_of_receive()

    def bodies(self, topic: str = "T") -> list[bytes]:
        """What is in its first queue, but for what only fills the log."""
        found: list[bytes] = []
        offset = 0
        while more := self.broker.records(topic, 0, offset):
            found += [record.body for record in more if not record.body.startswith(b"-")]
            offset += len(more)
        return found


Act = Callable[[Running, int], Awaitable[None]]


async def no_more(_: Running, __: int) -> None:
    """What has been written is all."""


@dataclass
class Case:
    """`step`: some of what the point is about, by its number. `check`: nothing of so many steps is lost."""

    step: Act
    check: Act
    # Before the first one.
    begin: Callable[[Running], None] = field(default=lambda running: None)
    # It is read before the broker serves, so a start names it.
    is_read_at_start: bool = True
    steps: int = 40


FILL = b"-" * 16_000


async def _stored(running: Running, number: int) -> None:
    running.put(b"%d" % number, f"K{number}")
    running.put(FILL)


async def _all_stored(running: Running, steps: int) -> None:
    assert running.bodies() == [b"%d" % number for number in range(steps)]


async def _all_found(running: Running, steps: int) -> None:
    for number in range(steps):
        search = running.store.plan_query("T", f"K{number}", 8, 0, 1 << 60)
        search.run()
        assert len(search.offsets) == 1, number


async def _timer(running: Running, number: int) -> None:
    """Some wait for long, and some are due at once."""
    running.put_timer(b"%d" % number, 2 * SECOND, number)
    running.put(FILL)
    await trio.sleep(1)


async def _all_delivered(running: Running, steps: int) -> None:
    await trio.sleep(20)
    assert running.bodies() == [b"%d" % number for number in range(steps)]
    assert running.broker.parts.services["flush the timer wheel"].__self__.waiting() == 0


async def _popped(running: Running, number: int) -> None:
    """Messages that stay hidden for longer than this lasts."""
    for one in range(20):
        running.put(b"%d" % (number * 20 + one))
        running.pops.pop(maxMsgNums=1, invisibleTime=HOUR)
        running.pops.write()


async def _none_twice(running: Running, steps: int) -> None:
    assert running.pops.offset() == steps * 20


async def _revived(running: Running, number: int) -> None:
    """Messages that come again soon."""
    for one in range(20):
        running.put(b"%d" % (number * 20 + one))
        running.pops.pop(maxMsgNums=1, invisibleTime=10 * SECOND)
        running.pops.write()
    await trio.sleep(1)


async def _all_come_again(running: Running, steps: int) -> None:
    await trio.sleep(60)
    again = set(running.bodies("%RETRY%G_T"))
    assert again == {b"%d" % number for number in range(steps * 20)}


async def _committed(running: Running, number: int) -> None:
    """Halves that are ended at once; one is not, at last."""
    for one in range(20):
        running.put_half(number * 20 + one)
        if (number, one) != (39, 19):
            running.end_half()


async def _all_committed(running: Running, steps: int) -> None:
    (part,) = [part for part in running.broker.parts if part.name == "transactions"]
    pending = {sample.name: sample.value for sample in part.samples()}
    assert pending["trimq_half_messages_pending"] == 1
    assert len(running.bodies()) == steps * 20 - 1


def _compacted_topic(running: Running) -> None:
    attributes = {"+cleanup.policy": "COMPACTION"}
    running.broker.topics.update(TopicConfig(topic_name="C", attributes=attributes))
    running.settle()


async def _kept(running: Running, number: int) -> None:
    running.put(b"%d" % number + b" " * 16_000, f"K{number}", topic="C")


async def _all_kept(running: Running, steps: int) -> None:
    (part,) = [part for part in running.broker.parts if part.name == "compaction"]
    compaction = part.services["copy messages of compacted topics"].__self__
    found: list[int] = []
    offset = 0
    while True:
        read = await compaction.read("C", 0, offset, 32)
        if not read.records:
            break
        found += [int(parse_record(record).body) for record in read.records]
        offset = read.result.next_begin_offset
    assert found == list(range(steps))


def _elastic_topic(running: Running) -> None:
    running.broker.elastic.maps.create("E", new_topic(2, 64))
    running.broker.elastic.maps.create("Quiet", new_topic(3, 8))
    running.settle()


async def _moved(running: Running, number: int) -> None:
    maps = running.broker.elastic.maps
    for one in range(4):
        partition = (number * 4 + one) % 64
        state = maps.state("E")
        assert state is not None
        maps.change("E", Move({partition: 1 - state.queues[partition]}))


async def _the_same_map(running: Running, steps: int) -> None:
    maps = running.broker.elastic.maps
    state, quiet = maps.state("E"), maps.state("Quiet")
    assert state is not None
    assert quiet is not None
    assert (state.version, quiet.version) == (steps * 4, 0)
    turned = [number % 64 for number in range(steps * 4)]
    expected = [(partition % 2 + turned.count(partition)) % 2 for partition in range(64)]
    assert list(state.queues) == expected
    assert sorted(maps.topics()) == ["E", "Quiet"]


# By the point's name. Whoever declares one more leaves it behind here, too.
CASES = {
    "consume queues": Case(_stored, _all_stored),
    # One pass for both.
    "message index": Case(_stored, _all_found, is_read_at_start=False),
    "timer wheel": Case(_timer, _all_delivered),
    "consumer offsets": Case(_popped, _none_twice),
    "popped messages": Case(_revived, _all_come_again, is_read_at_start=False),
    "half messages": Case(_committed, _all_committed),
    "compaction": Case(_kept, _all_kept, _compacted_topic, is_read_at_start=False),
    "elastic map": Case(_moved, _the_same_map, _elastic_topic, steps=80),
}


def largest(debt: Debt, step: int) -> int:
    """What a start may have to read at most: the bound, what comes until the next look, and one step's."""
    return BOUND + BOUND // LOOKS + step * debt.point.unit.weight


def noted(root: Path, name: str) -> Any:
    return json.loads((root / "config" / name).read_text())
