"""Planned changes: when they come, and what may be asked for."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import (
    Change,
    Move,
    PlanError,
    TopicMap,
    new_topic,
    plan_merge,
    plan_split,
)
from trimq.broker.elastic.retired_queues import RetiredQueues
from trimq.broker.elastic.scaling import READY_SECONDS, Scaling
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.remoting.contract import LimitReached

TOPIC = "Orders"


class Maps:
    """One topic's map, without a log; every queue ends at 100."""

    def __init__(self, topics: Topics) -> None:
        self.map = new_topic(4)
        self.others: dict[str, TopicMap] = {}
        self.left: list[int] = []
        self.refusing = False
        self._topics = topics

    def resize(self, topic: str, read: int, write: int) -> None:
        self._topics.resize(topic, read, write)

    def state(self, topic: str) -> TopicMap | None:
        return self.map if topic == TOPIC else self.others.get(topic)

    def topics(self) -> list[str]:
        return [TOPIC]

    def left_queues(self, topic: str) -> list[int]:
        return [queue for queue in self.left if queue >= self.reads]

    @property
    def reads(self) -> int:
        config = self._topics.get(TOPIC)
        assert config is not None
        return config.read_queue_nums

    def check_moves(self, topic: str, moves: Iterable[Move]) -> None:
        if self.refusing:
            raise PlanError("too large")

    def change(self, topic: str, move: Move) -> Change:
        if topic in self.others:
            self.others[topic] = self.others[topic].apply(move, lambda _: 100)
            return self.others[topic].changes[-1]
        self.map = self.map.apply(move, lambda _: 100)
        return self.map.changes[-1]


class Readers:
    """Groups as the test has them."""

    def __init__(self) -> None:
        self.groups: dict[str, frozenset[int]] = {}
        # By group and queue, when.
        self.reads: dict[tuple[str, int], int] = {}
        self.unread: dict[int, list[str]] = {}
        self.wants: dict[int, list[str]] = {}
        self.unseen: set[int] = set()

    def online(self, topic: str) -> list[str]:
        return list(self.groups)

    def passed(self, group: str, topic: str) -> frozenset[int]:
        return self.groups[group]

    def last_read(self, group: str, topic: str, queue: int) -> int:
        return self.reads.get((group, queue), -1)

    def behind(self, topic: str, queue: int) -> list[str]:
        return self.unread.get(queue, [])

    def wanting(self, topic: str, queue: int) -> list[str]:
        return self.wants.get(queue, [])

    def is_unseen(self, topic: str, queue: int) -> bool:
        return queue in self.unseen


class Home:
    """A topic of four queues, its readers, and the service that changes it."""

    def __init__(
        self, folder: Path, config: BrokerConfig | None = None, again: bool = False
    ) -> None:
        """`again`: the topic is in the folder."""
        clock = TrioClock()
        self.topics = Topics(config or BrokerConfig(), folder, clock)
        if again:
            self.topics.load()
        else:
            self.topics.update(TopicConfig(topic_name=TOPIC, read_queue_nums=4, write_queue_nums=4))
        self.maps, self.readers = Maps(self.topics), Readers()
        self.retired_queues = RetiredQueues(self.maps, self.readers, self.topics)
        self.scaling = Scaling(self.maps, self.readers, self.retired_queues, clock)

    @property
    def told(self) -> tuple[int, int]:
        config = self.topics.get(TOPIC)
        assert config is not None
        return config.write_queue_nums, config.read_queue_nums

    def scale(self, queues: int, *ignore: str, now: bool = False, dry: bool = False) -> list[Move]:
        return self.scaling.scale(TOPIC, queues, now=now, ignore=ignore, dry_run=dry)


@pytest.fixture
async def home(tmp_path: Path, nursery: trio.Nursery) -> Home:
    made = Home(tmp_path)
    nursery.start_soon(made.scaling.run)
    return made


async def until(holds: Callable[[], bool]) -> float:
    """Trio's seconds until it holds, which is looked at in steps that floats can count; 1000 at most."""
    began = trio.current_time()
    for _ in range(8000):
        if holds():
            return trio.current_time() - began
        await trio.sleep(0.125)
    raise AssertionError("it never held")


async def test_without_readers_the_changes_come_at_once(
    home: Home, autojump_clock: MockClock
) -> None:
    assert len(home.scale(8)) == 4
    assert home.told == (8, 8)
    await until(lambda: home.maps.map.version == 4)
    assert home.maps.map.in_use == 8
    assert home.scaling.pending(TOPIC) == (0, None)


async def test_readers_come_to_new_queues_first(home: Home, autojump_clock: MockClock) -> None:
    home.readers.groups = {"A": frozenset(), "B": frozenset()}
    home.scale(6)
    await trio.sleep(30)
    pending, stage = home.scaling.pending(TOPIC)
    assert pending > 0
    assert stage is not None
    assert "queue 4" in stage
    now = TrioClock().millis()
    home.readers.reads = {("A", 4): now, ("A", 5): now, ("B", 4): now, ("Free", 5): now}
    await trio.sleep(10)
    # Of other groups any number may be there, and what was before the request is none.
    home.readers.reads["B", 5] = now - 60_000
    await trio.sleep(10)
    assert home.maps.map.version == 0
    _, stage = home.scaling.pending(TOPIC)
    assert stage is not None
    assert "group B has not come to queue 5" in stage
    home.readers.reads["B", 5] = TrioClock().millis()
    assert await until(lambda: home.maps.map.version > 0) < 2


async def test_nobody_is_waited_for_longer_than_that(home: Home, autojump_clock: MockClock) -> None:
    home.readers.groups = {"A": frozenset()}
    home.scale(5)
    waited = await until(lambda: home.maps.map.version > 0)
    assert READY_SECONDS - 1 < waited < READY_SECONDS + 1


async def test_fewer_queues_leave_when_they_have_been_read(
    home: Home, autojump_clock: MockClock
) -> None:
    home.readers.groups = {"A": frozenset()}
    home.readers.unread = {3: ["A"]}
    home.scale(2)
    await until(lambda: home.maps.map.in_use == 2)
    assert await until(lambda: home.told == (2, 4)) < 2
    await trio.sleep(500)
    assert home.told == (2, 4)
    why = "queues 2 to 3 are to leave the route: group A has not read queue 3 yet"
    assert home.scaling.pending(TOPIC) == (0, why)
    home.readers.unread = {}
    await until(lambda: home.told == (2, 2))
    assert home.scaling.pending(TOPIC) == (0, None)


async def test_what_nobody_has_read_yet_stays_in_the_route(
    home: Home, autojump_clock: MockClock
) -> None:
    home.readers.unseen = {2}
    home.scale(2)
    await until(lambda: home.maps.map.in_use == 2)
    await trio.sleep(500)
    assert home.told == (2, 4)
    why = "no group has read the topic yet, and queue 2 has messages"
    _, stage = home.scaling.pending(TOPIC)
    assert stage == f"queues 2 to 3 are to leave the route: {why}"
    home.readers.unseen = set()
    await until(lambda: home.told == (2, 2))


async def test_queues_that_have_left_come_back_for_a_group_that_wants_them(
    home: Home, autojump_clock: MockClock
) -> None:
    home.maps.left = [2, 3]
    home.scale(2)
    await until(lambda: home.told == (2, 2))
    _, stage = home.scaling.pending(TOPIC)
    assert stage is not None
    assert "queues 2 to 3 are not in the route" in stage
    home.readers.wants = home.readers.unread = {2: ["Late"]}
    # Queue 3 stays where it is: nobody wants it.
    await until(lambda: home.told == (2, 3))
    await trio.sleep(500)
    assert home.told == (2, 3)
    home.readers.wants = home.readers.unread = {}
    await until(lambda: home.told == (2, 2))


async def test_more_queues_leave_unread_ones_in_the_route(
    home: Home, autojump_clock: MockClock
) -> None:
    home.readers.unread = {3: ["A"]}
    home.scale(1)
    await until(lambda: home.told == (1, 4))
    home.scale(2)
    await until(lambda: home.maps.map.in_use == 2)
    await trio.sleep(10)
    assert home.told == (2, 4)


async def test_what_cannot_be_made_is_refused_when_it_is_planned(
    home: Home, autojump_clock: MockClock
) -> None:
    home.maps.refusing = True
    with pytest.raises(PlanError, match="too large"):
        home.scale(6)
    assert home.told == (4, 4)
    assert home.scaling.pending(TOPIC) == (0, None)


async def test_the_next_request_waits_for_the_last_changes(
    home: Home, autojump_clock: MockClock
) -> None:
    home.readers.groups = {"A": frozenset(), "B": frozenset()}
    home.maps.change(TOPIC, plan_split(home.maps.map, 0, 4))
    home.readers.groups["B"] = frozenset({1})
    with pytest.raises(PlanError, match="group 'A' has not passed"):
        home.scale(6)
    assert home.scale(6, "A", dry=True)
    assert home.scale(6, now=True, dry=True)
    assert home.told == (4, 4)


async def test_one_request_at_a_time(home: Home, autojump_clock: MockClock) -> None:
    home.readers.groups = {"A": frozenset()}
    home.scale(6)
    with pytest.raises(PlanError, match="still changing"):
        home.scale(8)
    assert home.scaling.cancel(TOPIC)
    assert home.scaling.pending(TOPIC) == (0, None)
    await trio.sleep(2 * READY_SECONDS)
    assert home.maps.map.version == 0
    # Nothing has come to the new queues.
    assert home.told == (4, 4)
    home.scale(8)


async def test_a_split_and_a_merge(home: Home, autojump_clock: MockClock) -> None:
    home.scaling.move(TOPIC, lambda state: plan_split(state, 1, state.in_use), dry_run=False)
    await until(lambda: home.maps.map.in_use == 5)
    assert home.told == (5, 5)
    await until(lambda: home.scaling.pending(TOPIC)[0] == 0)
    home.scaling.move(TOPIC, lambda state: plan_merge(state, 1), dry_run=False)
    await until(lambda: home.told == (4, 4))
    assert home.maps.map.queues == new_topic(4).queues


async def test_other_topics_are_refused(home: Home, autojump_clock: MockClock) -> None:
    with pytest.raises(PlanError, match="not an elastic topic"):
        home.scaling.scale("Other", 3, now=False, ignore=(), dry_run=False)
    with pytest.raises(PlanError, match="1 to 1000"):
        home.scale(1001)


async def test_each_change_is_a_step_of_its_own(home: Home, autojump_clock: MockClock) -> None:
    """However many there are, others have their turn between two of them."""
    versions = [0]

    class Steps(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            versions.append(home.maps.map.version)

    home.maps.map = new_topic(100)
    trio.lowlevel.add_instrument(Steps())
    home.scale(200)
    await until(lambda: home.maps.map.version == 100)
    assert max(after - before for before, after in pairwise(versions)) == 1


async def test_what_is_cancelled_between_two_changes_does_not_happen(
    home: Home, autojump_clock: MockClock
) -> None:
    home.scale(8)
    while not home.maps.map.version:
        await trio.lowlevel.checkpoint()
    # Trio's turns may have been two.
    made = home.maps.map.version
    assert home.scaling.pending(TOPIC) == (4 - made, "the changes are being made")
    assert len(home.scaling.cancel(TOPIC)) == 4 - made
    # The next request is not taken for the one that was cancelled.
    home.readers.groups = {"A": frozenset({1, 2})}
    home.scale(9)
    await trio.sleep(10)
    assert home.maps.map.version == made
    assert home.scaling.pending(TOPIC)[0] > 0


async def test_what_was_cancelled_goes_on_when_it_is_asked_for_again(
    home: Home, autojump_clock: MockClock
) -> None:
    home.scale(5)
    while not home.maps.map.version:
        await trio.lowlevel.checkpoint()
    home.scaling.cancel(TOPIC)
    assert home.maps.map.in_use == 5
    made = home.maps.map.version
    assert len(home.scale(5, dry=True)) == 4 - made
    home.scale(5)
    await until(lambda: home.maps.map.version == 4)
    assert [len(home.maps.map.partitions_of(queue)) for queue in range(5)] == [200] * 5
    assert home.scale(5) == []


async def test_what_is_refused_leaves_no_plan(tmp_path: Path) -> None:
    home = Home(tmp_path, BrokerConfig(max_topic_queues=6))
    for dry in (True, False):
        with pytest.raises(LimitReached, match="no more than 6 are allowed"):
            home.scale(8, dry=dry)
        assert home.scaling.pending(TOPIC) == (0, None)
        assert home.told == (4, 4)
    assert home.scale(6)


async def test_what_cannot_be_announced_leaves_no_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)

    def failing(topic: str, read: int, write: int) -> None:
        raise PlanError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(home.maps, "resize", failing)
        with pytest.raises(PlanError, match="not now"):
            home.scale(6)
    assert home.scaling.pending(TOPIC) == (0, None)
    assert home.scale(6)


async def test_a_plan_that_goes_while_another_topic_changes_is_not_made(
    home: Home, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = home.maps.change

    def changing(topic: str, move: Move) -> Change:
        home.scaling.cancel("Second")
        return change(topic, move)

    monkeypatch.setattr(home.maps, "change", changing)
    home.maps.others["Second"] = new_topic(4)
    home.topics.update(TopicConfig(topic_name="Second", read_queue_nums=4, write_queue_nums=4))
    home.scale(8)
    home.scaling.scale("Second", 8, now=True, ignore=(), dry_run=False)
    await until(lambda: home.maps.map.version == 4)
    assert home.maps.others["Second"].version == 0


def lowered(folder: Path, most: int) -> Home:
    """With four queues in use and eight in the route, started again with a lower maxTopicQueues."""
    before = Home(folder)
    before.topics.resize(TOPIC, 8, 4)
    before.topics.close()
    return Home(folder, BrokerConfig(max_topic_queues=most), again=True)


async def test_a_lowered_limit_holds_up_no_tail(
    tmp_path: Path, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    home = lowered(tmp_path, 2)
    home.readers.unread = {5: ["A"]}
    nursery.start_soon(home.scaling.run)
    await trio.sleep(10)
    assert home.told == (4, 8)
    home.maps.left = [4, 5, 6, 7]
    home.readers.unread = {}
    await until(lambda: home.told == (4, 4))
    # What a group has still to read comes back.
    home.readers.wants = home.readers.unread = {5: ["Late"]}
    await until(lambda: home.told == (4, 6))
    with pytest.raises(LimitReached, match="no more than 2 are allowed"):
        home.scale(5)
    home.scale(3)
    await until(lambda: home.told == (3, 6))
    home.readers.wants = home.readers.unread = {}
    await until(lambda: home.told == (3, 3))


async def test_queues_that_are_left_over_do_not_count_as_asked_for(tmp_path: Path) -> None:
    home = lowered(tmp_path, 5)
    assert home.scale(5)
    assert home.told == (5, 8)
