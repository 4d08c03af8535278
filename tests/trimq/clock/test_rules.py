"""Whoever compares times, one by one, when the wall clock is set.

How long something took is not the wall clock's affair: members, locks, brokers and names live and expire as if nothing
had happened. What names a time of the wall clock (a file's age, a visibility that is kept in a file) follows it, and
where RocketMQ lets something stand still until the clock has caught up, TriMQ does not.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from tests.broker.filters.test_consumer_filters import Table
from tests.broker.lite.test_events import ONE, Told
from tests.broker.lite.test_registry import Metadata
from tests.broker.produce.conftest import header_of
from tests.namesrv.parts import register_header
from tests.processors.conftest import NOW, Broker
from tests.processors.pop.conftest import PopClient
from tests.trimq.clock.jumping import DAY, HOUR, JUMPS, MINUTE, SECOND, HandClock
from trimq.base.clock import Clock, TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.commits import ElasticCommits
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.lite.checks import LiteChecks
from trimq.broker.lite.lifecycle import LiteLifecycle
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.broker.pop.reading.long_polling import time_left
from trimq.broker.produce.puts.outcomes import Sent
from trimq.broker.stats.broker_stats import BrokerStats
from trimq.broker.stats.traffic import Traffic
from trimq.broker.steps import at_once
from trimq.broker.tables.new_names import NewNames
from trimq.codec.bodies.heartbeat import ConsumerData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.register import RegisterBrokerBody
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.names import lite_queue
from trimq.codec.records.recall_handle import build_recall_handle
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.routes import RouteTable
from trimq.processors.namesrv.routes.get_routeinfo_by_topic import GetRouteinfoByTopic
from trimq.processors.produce.recall_message import RecallMessage
from trimq.remoting.contract import LimitReached, RemotingError
from trimq.remoting.testing import RecordingPeer
from trimq.store.config import StoreConfig
from trimq.store.index.message_index import Index
from trimq.store.upkeep.cleaning import LogCleaning, Round

jumps = pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
Q = OrderedQueue("T", "G", 0)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def client_at(clock: Clock) -> Client:
    return Client(RecordingPeer(), "c", 0, 513, clock.steady_millis())


# --- durations: the wall clock does not matter


@jumps
def test_consumers(clock: HandClock, jump: int) -> None:
    consumers = Consumers(BrokerConfig(), clock)
    data = ConsumerData(group_name="g", consume_type="CONSUME_PASSIVELY")
    consumers.register(client_at(clock), data, False)
    clock.later(100 * SECOND)
    clock.jump(jump)
    at_once(consumers.scan_expired())
    assert consumers.group("g") is not None
    clock.later(21 * SECOND)
    at_once(consumers.scan_expired())
    assert consumers.group("g") is None


@jumps
def test_producers(clock: HandClock, jump: int) -> None:
    producers = Producers(BrokerConfig(), clock)
    client = client_at(clock)
    producers.register("g", client)
    clock.later(100 * SECOND)
    clock.jump(jump)
    at_once(producers.scan_expired())
    assert producers.pick("g") is client.peer
    clock.later(21 * SECOND)
    at_once(producers.scan_expired())
    assert producers.pick("g") is None


@jumps
def test_queue_locks(clock: HandClock, jump: int) -> None:
    """Two owners at once would be two that consume in order; and none for a month nobody that does."""
    locks = QueueLocks(clock)
    queue = MessageQueue(broker_name="b", queue_id=0, topic="T")
    locks.lock("g", [queue], "one")
    clock.jump(jump)
    clock.later(59 * SECOND)
    assert locks.lock("g", [queue], "two") == set()
    clock.later(2 * SECOND)
    assert locks.lock("g", [queue], "two") == {queue}


@jumps
def test_brokers_of_a_name_server(clock: HandClock, jump: int) -> None:
    routes = RouteTable(NamesrvConfig(), clock.steady_millis)
    routes.register_broker(register_header(), RegisterBrokerBody(), RecordingPeer())
    clock.jump(jump)
    routes.drop_silent()
    assert routes.groups()
    clock.later(121 * SECOND)
    routes.drop_silent()
    assert not routes.groups()


@jumps
def test_a_name_server_that_waits_after_its_start(clock: HandClock, jump: int) -> None:
    config = NamesrvConfig(need_wait_for_service=True)
    kv: Any = None
    routes = RouteTable(config, clock.steady_millis)
    processor = GetRouteinfoByTopic(routes, kv, config, clock.steady_millis)
    clock.jump(jump)
    clock.later(44 * SECOND)
    assert not processor._ready()
    clock.later(2 * SECOND)
    assert processor._ready()


@jumps
def test_new_names_by_address(clock: HandClock, jump: int) -> None:
    names = NewNames(BrokerConfig(max_new_names_per_address=2), clock)

    def admitted() -> int:
        for count in range(100):
            try:
                names.admit("10.0.0.1:1")
            except LimitReached:
                return count
        return 100

    assert admitted() == 20
    clock.jump(jump)
    assert admitted() == 0
    clock.later(3 * SECOND)
    assert admitted() == 6


@jumps
def test_lite_clients(clock: HandClock, jump: int) -> None:
    metadata: Any = Metadata()
    config = BrokerConfig()
    subscriptions = LiteSubscriptions(config, metadata, clock)
    at_once(subscriptions.add("c", "G", "T", [ONE]))
    clock.jump(jump)
    at_once(subscriptions.remove_silent())
    assert subscriptions.find("c") is not None
    clock.later(config.lite_subscription_check_timeout_mills + 1)
    at_once(subscriptions.remove_silent())
    assert subscriptions.find("c") is None


@jumps
async def test_lite_events(clock: HandClock, jump: int) -> None:
    """A client that does not fetch its notes loses them to others, after the same time as ever."""
    told = Told(c=[ONE], d=[ONE])
    told.events._clock = clock
    told.events.arrived(ONE)
    [first] = told.woken
    clock.jump(jump)
    await told.events.scan()
    assert told.woken == [first]
    clock.later(10 * MINUTE)
    await told.events.scan()
    assert told.woken == [first, "d" if first == "c" else "c"]


@jumps
def test_rates(clock: HandClock, jump: int) -> None:
    traffic = Traffic(lambda _: False)
    stats = BrokerStats("c", traffic, clock)
    for second in range(12):
        stats.tick()
        traffic.written += 10
        clock.later(SECOND)
        if second == 6:
            clock.jump(jump)
    assert stats.rates.over(10, 0) == 10


@jumps
def test_orderly_groups_of_elastic_topics(clock: HandClock, jump: int) -> None:
    """For as long as a lock lives after a start, queues may be held by members that lock them again."""
    commits: Any = ElasticCommits.__new__(ElasticCommits)
    commits._clock = clock
    commits._go_on = lambda **_: None
    commits._lock = lambda *_: None
    commits.restore()
    clock.jump(jump)
    clock.later(59 * SECOND)
    assert commits._may_be_held("g", "T", 0)
    clock.later(2 * SECOND)
    assert not commits._may_be_held("g", "T", 0)


# --- times of the wall clock


@jumps
@pytest.mark.parametrize("hidden", [False, True])
async def test_blocks_of_ordered_pops(
    autojump_clock: trio.testing.MockClock, jump: int, hidden: bool
) -> None:
    """They are in a file, with the time at which messages come again: a clock that went on lets them come. RocketMQ
    waits for one that was set back (checkBlock compares with it); here a message is hidden no longer than once more.
    """
    moved = TrioClock()
    batches = OrderedBlocks(moved)
    opened: list[float] = []
    block_timeouts = BlockTimeouts(batches, lambda _: opened.append(trio.current_time()), moved)
    start, now = trio.current_time(), moved.millis()
    batches.begin(Q, None, now, 30 * SECOND, [5, 6])
    if hidden:
        batches.hide(Q, 6, now, now + 40 * SECOND)
    block_timeouts.watch(Q)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(block_timeouts.run)
        await trio.sleep(20)
        assert not opened
        moved.jumped += jump
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert not batches.is_blocked(Q, None, SECOND)
    [at] = opened
    last = 40 if hidden else 30
    assert at - start <= (22 if jump > 0 else 20 + last + 2)
    assert jump > 0 or at - start >= last


@jumps
async def test_batches_that_nobody_uses(clock: HandClock, tmp_path: Path, jump: int) -> None:
    """They go after a day by the clock, as there (autoClean); one that is blocked by the clock never does."""
    topics: Any = SimpleNamespace(get=lambda name: SimpleNamespace(read_queue_nums=4))
    blocks = OrderBlocks(tmp_path, topics, {"G"}, clock)
    blocks.begin(Q, None, clock.millis(), 30 * SECOND, [5])
    clock.jump(jump)
    await blocks.clean()
    assert (blocks.find(Q) is None) == (jump > DAY)
    if jump < 0:
        assert blocks.is_blocked(Q, None, SECOND)
        clock.later(DAY + HOUR)
        await blocks.clean()
        assert blocks.find(Q) is None


@jumps
def test_pops_and_notifications_that_wait(clock: HandClock, jump: int) -> None:
    """Their time is one of the client's clock. Nobody waits for longer than was asked for."""
    asked = SimpleNamespace(born_time=clock.millis(), poll_time=15 * SECOND)
    clock.later(5 * SECOND)
    clock.jump(jump)
    left = time_left(asked, clock)
    assert left <= 15 * SECOND
    assert (left <= 0) == (jump > 0)
    clock.later(15 * SECOND)
    assert time_left(asked, clock) <= 0


@jumps
def test_files_of_the_commit_log(clock: HandClock, jump: int) -> None:
    """A file goes when it was changed so long ago as the clock says (fileReservedTime), as there: far ahead, all go."""
    log, segment = SimpleNamespace(), SimpleNamespace(base=0, removed_at=-1)
    log.oldest_removable = lambda: segment
    log.remove_oldest = lambda now: segment
    log.file_size = 1024
    cleaning = LogCleaning(StoreConfig(root=Path("unused")), log, clock.millis, lambda _: 0.1)  # type: ignore[arg-type]
    modified = clock.millis()
    clock.jump(jump)
    assert cleaning.take_out(segment, modified, Round("", False, 9)) == (jump > 0)  # type: ignore[arg-type]


@jumps
def test_files_that_are_held_by_a_reader(clock: HandClock, jump: int) -> None:
    """Two minutes after it was let go of it goes; whether it may is looked at as often as ever."""
    segment: Any = SimpleNamespace(readers=1, removed_at=clock.millis(), path="")
    log: Any = SimpleNamespace()
    cleaning = LogCleaning(StoreConfig(root=Path("unused")), log, clock.millis, lambda _: 0.1)
    cleaning._removed.append(segment)
    assert cleaning.next_file(None) is segment
    clock.jump(jump)
    assert cleaning.is_held(segment) == (jump < 0)
    clock.later(121 * SECOND)
    assert cleaning.next_file(None) is segment
    assert not cleaning.is_held(segment)


@jumps
def test_lite_topics(clock: HandClock, jump: int) -> None:
    """They go when their last message was stored so many minutes ago as the clock says, as there."""
    then = clock.millis()
    stored: Any = SimpleNamespace(max_offset=lambda *_: 1, store_time=lambda *_: then)
    life = LiteLifecycle(BrokerConfig(), *[None] * 4, stored, clock)  # type: ignore[arg-type]
    clock.jump(jump)
    assert life._is_expired(lite_queue("T", "one"), 60) == (jump > 0)


@jumps
def test_filters_of_groups_that_are_gone(tmp_path: Path, jump: int) -> None:
    """One that is out of use is forgotten after a day by the clock, and counts as out of use whatever that says."""
    table = Table(tmp_path)
    table.beat(T="a > 1")
    table.clock.now += jump
    table.filters.group_gone("G")
    assert table.find().is_dead
    table.clock.now += max(-jump, 0) + 25 * HOUR
    at_once(table.filters.clean())
    assert table.filters.find("T", "G") is None


@jumps
def test_index_files(clock: HandClock, tmp_path: Path, jump: int) -> None:
    """Their names are times, and the order of their messages."""
    index = Index(StoreConfig(root=tmp_path), clock.millis)
    first = Path(index._last().path).name
    index.files.clear()
    clock.jump(jump)
    assert Path(index._last().path).name > first


@jumps
def test_a_clients_clock_that_is_not_this_one(tmp_path: Path, jump: int) -> None:
    """A pop that was asked for in the past by this clock is refused, as there (isTimeoutTooMuch): nobody waits for it.
    One of the future is served.
    """
    broker = Broker(tmp_path, BrokerConfig())
    broker.store.open()
    try:
        pops = PopClient(broker)
        pops.put(b"x")
        born = broker.clock.now
        broker.clock.now += jump
        answer = pops.pop(bornTime=born, pollTime=15_000)
        assert answer.code == (ResponseCode.POLLING_TIMEOUT if jump > 0 else 0)
        lite = LiteChecks(
            broker.config, broker.identity, broker.topics, broker.groups, broker.clock
        )
        header = PopLiteMessageRequestHeader(
            client_id="c",
            consumer_group="G",
            topic="unknown",
            max_msg_num=1,
            invisible_time=1,
            poll_time=15_000,
            born_time=born,
            attempt_id="",
        )
        with pytest.raises(RemotingError) as refused:
            lite.check(header, broker.peer)
        late, unknown = ResponseCode.POLLING_TIMEOUT, ResponseCode.TOPIC_NOT_EXIST
        assert refused.value.code == (late if jump > 0 else unknown)
    finally:
        broker.store.close()


@jumps
def test_sends_are_accepted_from_a_time_on(tmp_path: Path, jump: int) -> None:
    """startAcceptSendRequestTimeStamp names a time of the wall clock."""
    broker = Broker(tmp_path, BrokerConfig(start_accept_send_request_time_stamp=NOW + HOUR))
    broker.store.open()
    try:
        broker.clock.now += jump
        sent = broker.sending.send(header_of(b="T"), b"x", broker.peer, 513)
        assert isinstance(sent, Sent) == (jump > 0)
    finally:
        broker.store.close()


@jumps
def test_recalls(tmp_path: Path, jump: int) -> None:
    """A handle names the time of its message. What is due, or further ahead than any may be, is refused, as there."""
    broker = Broker(tmp_path, BrokerConfig(recall_message_enable=True))
    broker.store.open()
    try:
        broker.topics.create_in_send_back("T", 4, 6, 0)
        handle = build_recall_handle("T", "broker-a", str(NOW + 5000), "U1")
        processor = broker.processor(RecallMessage)
        fields = {"topic": "T", "producerGroup": "PG", "recallHandle": handle}
        request = broker.request(370, processor.decode_header(fields))
        broker.clock.now += jump
        assert (processor.handle(request).code == 0) == (-2 * DAY < jump < 0)
    finally:
        broker.store.close()
