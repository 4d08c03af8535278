"""Which client is told of which lite topic."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pytest
import trio

from tests.broker.lite.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.subscribers import Subscriber, Subscribers
from trimq.broker.steps import at_once

NAMES = [f"%LMQ%$T${number}" for number in range(20)]
ONE = NAMES[0]


def group_of(names: Iterable[str]) -> Subscribers:
    readers = Subscribers()
    for name in names:
        readers.add(Subscriber(name, "G"))
    return readers


class World:
    """What the events ask: metadata, subscriptions, offsets and queues in one."""

    def __init__(self) -> None:
        self.clients: dict[str, list[str]] = {}
        self.wildcard = False
        self.most = 100
        self.ends: dict[str, int] = {}
        self.committed: dict[str, int] = {}
        self.closed: set[str] = set()

    def is_evicted(self, client_id: str, group: str, queue: str) -> bool:
        return False

    def is_wildcard(self, group: str) -> bool:
        return self.wildcard

    def most_events(self, group: str) -> int:
        return self.most

    def bind_topic(self, group: str) -> str:
        return "T"

    def readers(self, queue: str, group: str) -> Subscribers:
        return group_of(name for name, queues in self.clients.items() if queue in queues)

    def wildcard_readers(self, group: str, topic: str) -> Subscribers:
        return group_of(self.clients)

    def all_readers(self, queue: str) -> dict[str, Subscribers]:
        return {"G": self.readers(queue, "G")}

    def find(self, client_id: str) -> Any:
        queues = self.clients.get(client_id)
        return None if queues is None else type("Found", (), {"queues": dict.fromkeys(queues)})

    def clients_of(self, group: str) -> list[str]:
        return list(self.clients)

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self.ends.get(topic, 0)

    def lite_queues(self, topic: str) -> list[str]:
        return sorted(self.ends)

    def is_closed(self, queue: str, group: str) -> bool:
        return queue in self.closed

    def query(self, group: str, topic: str, queue_id: int) -> int:
        return self.committed.get(topic, -1)


class Told:
    def __init__(self, **clients: list[str]) -> None:
        self.world: Any = World()
        self.world.clients = clients
        self.clock: Any = Clock()
        self.woken: list[str] = []
        world = self.world
        self.events = LiteEvents(
            BrokerConfig(),
            world,
            world,
            world,
            world,
            self.woken.append,
            world.is_closed,
            self.clock,
        )

    def taken(self, client: str = "c") -> list[str]:
        found = []
        while (queue := self.events.take(client)) is not None:
            found.append(queue)
        return found


def test_an_arrival_is_noted_once_for_one_client() -> None:
    told = Told(c=[ONE], d=[ONE])
    told.events.arrived(ONE)
    told.events.arrived("%LMQ%plain")
    assert len(told.woken) == 1
    assert told.taken(told.woken[0]) == [ONE]
    told.events.arrived(ONE)
    told.events.available(ONE, "G")
    assert sorted([*told.taken("c"), *told.taken("d")]) in ([ONE], [ONE, ONE])


def test_a_note_that_was_not_used_comes_again() -> None:
    told = Told(c=[ONE])
    told.events.arrived(ONE)
    assert told.events.take("c") == ONE
    told.events.give_back("c", "G", ONE)
    assert told.taken() == [ONE]


def test_what_does_not_fit_is_found_when_the_others_are_taken() -> None:
    told = Told(c=NAMES)
    told.world.most = 10
    told.world.ends = dict.fromkeys(NAMES, 1)
    for queue in NAMES:
        told.events.arrived(queue)
    first = [told.events.take("c") for _ in range(10)]
    told.world.committed = {str(queue): 1 for queue in first}
    assert told.taken() == []
    told.events.look_now("c")
    assert sorted(told.taken()) == sorted(set(NAMES) - set(first))


def test_how_many_notes_a_group_may_have_is_read_anew() -> None:
    told = Told(c=NAMES)
    told.world.most = 2
    for queue in NAMES:
        told.events.arrived(queue)
    told.world.most = 5
    told.clock.now += 5000
    told.events.arrived(NAMES[2])
    assert not told.events.has_notes("d")
    assert told.events.take("c") == ONE
    told.events.give_back("c", "G", ONE)
    told.clock.now += 1
    for queue in NAMES:
        told.events.arrived(queue)
    assert len(told.taken()) == 5
    told.world.most = 1
    told.clock.now += 5001
    for queue in NAMES:
        told.events.arrived(queue)
    assert len(told.taken()) == 1


def test_nobody_has_more_than_a_hundred_thousand_notes() -> None:
    told = Told(c=[])
    told.world.most = 1 << 31
    for number in range(100_001):
        told.events.give_back("c", "G", f"%LMQ%$T${number}")
    assert len(told.taken()) == 100_000


def test_a_full_look_goes_on_where_it_had_no_room() -> None:
    told = Told(c=NAMES)
    told.world.most = 8
    told.world.ends = dict.fromkeys(NAMES, 1)
    at_once(told.events.look_at_client("c", "G"))
    found = [told.taken()]
    for _ in range(2):
        told.events.look_now("c")
        found.append(told.taken())
    assert found == [NAMES[:8], NAMES[8:16], [*NAMES[16:], *NAMES[:4]]]


def test_a_full_look_leaves_out_what_its_group_has_messages_of() -> None:
    told = Told(c=NAMES)
    told.world.most = 8
    told.world.ends = dict.fromkeys(NAMES, 1)
    told.world.closed = set(NAMES[:15])
    at_once(told.events.look_at_client("c", "G"))
    assert told.taken() == NAMES[15:]


async def test_the_notes_of_an_idle_client_go_to_another() -> None:
    told = Told(c=[ONE])
    told.events.arrived(ONE)
    told.world.clients["d"] = [ONE]
    told.clock.now += 10_000
    await told.events.scan()
    assert told.woken == ["c"]
    told.clock.now += 1
    await told.events.scan()
    assert told.woken == ["c", "d"]
    assert (told.taken("c"), told.taken("d")) == ([], [ONE])


async def test_an_idle_client_without_notes_is_forgotten_later() -> None:
    told = Told(c=[ONE])
    told.events.take("c")
    told.events.arrived(ONE)
    told.taken()
    told.clock.now += 35_000
    await told.events.scan()
    assert len(told.events) == 1
    told.clock.now += 1
    await told.events.scan()
    assert (len(told.events), told.events.last_access("c")) == (0, -1)


async def test_a_wildcard_group_gets_all_that_it_has_not_read() -> None:
    told = Told(c=[])
    told.world.wildcard = True
    told.world.ends = dict.fromkeys(NAMES, 2)
    told.world.committed = {NAMES[3]: 2}
    told.events.joined(Subscriber("c", "G"), "T@G")
    await told.events.scan()
    assert told.taken() == []
    told.clock.now += 5000
    await told.events.scan()
    assert told.taken() == sorted(set(NAMES) - {NAMES[3]})


def test_who_joins_is_told_of_what_is_there() -> None:
    told = Told(c=NAMES)
    told.world.ends = {ONE: 1}
    told.events.joined(Subscriber("c", "G"), ONE)
    told.events.joined(Subscriber("c", "G"), NAMES[1])
    assert told.taken() == [ONE]


def test_who_leaves_passes_its_notes_on() -> None:
    told = Told(c=[ONE])
    told.events.arrived(ONE)
    told.world.clients = {"d": [ONE]}
    told.events.left(Subscriber("c", "G"))
    assert told.taken("d") == [ONE]


@pytest.mark.parametrize("group", ["G"])
def test_an_administrator_has_all_looked_at(group: str) -> None:
    told = Told(c=NAMES)
    told.world.ends = {NAMES[5]: 1, NAMES[6]: 1}
    told.world.committed = {NAMES[6]: 1}
    at_once(told.events.look_at_group(group))
    assert (told.woken, told.taken()) == (["c"], [NAMES[5]])


class Walked(Subscribers):
    """May be walked through from anywhere, and not copied."""

    def __iter__(self) -> Iterator[Subscriber]:
        raise AssertionError("all of them were looked at")

    def from_anywhere(self, most: int) -> Iterator[Subscriber]:
        for one in super().from_anywhere(most):
            self.met.append(one)
            yield one

    met: ClassVar[list[Subscriber]] = []


@pytest.mark.parametrize("full", [False, True])
def test_a_message_asks_a_few_of_many_clients(full: bool) -> None:
    """Nobody looks at all clients of a wildcard group for each message, even when none has room."""
    told = Told()
    told.world.wildcard = True
    told.world.most = 0 if full else 100
    readers = Walked()
    for number in range(5000):
        readers.add(Subscriber(f"c{number}", "G"))
    told.world.all_readers = lambda queue: {"G": readers}
    Walked.met.clear()
    told.events.arrived(ONE)
    assert len(Walked.met) == (1000 if full else 1)
    assert bool(told.events._wildcard_looks) == full


def test_a_full_look_of_very_many_lite_topics_goes_on_in_the_service() -> None:
    names = [f"%LMQ%$T${number}" for number in range(1200)]
    told = Told(c=names)
    told.world.ends = {names[0]: 1, names[-1]: 1}
    told.events.arrived(names[0])
    told.taken()
    told.events._look_later(Subscriber("c", "G"), 0)
    told.clock.now += 100
    told.events.look_now("c")
    assert told.taken() == [names[0]]
    trio.run(told.events.scan)
    # The first one's message is still there, so that is found again.
    assert told.taken() == [names[-1], names[0]]
