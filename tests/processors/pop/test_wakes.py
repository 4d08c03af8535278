"""Whatever makes a waiting request's condition true before its time wakes it: events by waiters, each cell tried.

All are held for half a minute. Those that wait in lite topics, at gates or for the disk are tried beside their own
parts, and are named here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from tests.processors.pop.test_clock_jumps import SetClock
from tests.processors.pop.test_pop import batch
from trimq.broker.config import BrokerConfig
from trimq.codec.headers.fast import PullHeader
from trimq.processors.consume.pull_message import PullMessage
from trimq.processors.pop.notification import Notification
from trimq.processors.pop.peek_message import PeekMessage
from trimq.remoting.contract import Response
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message

HELD: Final = 30_000
HIDDEN: Final = 5000
SUSPEND: Final = 2
OPENS: Final = HIDDEN / 1000
AT: Final = 1.5
"""The second of the event, counted from the pop of what is out."""


class Site(PopClient):
    """Three of the topic's four messages are out: popped in order, or all four without order."""

    def __init__(self, broker: Broker, clock: SetClock, order: bool) -> None:
        super().__init__(broker)
        self.clock = clock
        self.put(b"0", b"1", b"2", b"3")
        self.out = self.pop(order=order, maxMsgNums=3 if order else 4, invisibleTime=HIDDEN)
        self.write()

    def again(self) -> None:
        """What reviving puts back."""
        self.broker.topics.create_in_send_back("%RETRY%G_T", 1, 6, 0)
        self.broker.store.put(Message("%RETRY%G_T", 0, b"x", b"ORIGIN_GROUP\x01G\x02"))


# --- what happens


def nothing(site: Site) -> None:
    """Their time goes by."""


def arrives(site: Site) -> None:
    site.put(b"4")


def comes_again(site: Site) -> None:
    site.again()


def acks_all(site: Site) -> None:
    for number in range(3):
        site.ack(site.out, number)
    site.write()


def acks_in_a_batch(site: Site) -> None:
    site.ack_batch(batch(site.out, b"\x07"))
    site.write()


def acks_one(site: Site) -> None:
    site.ack(site.out, 0)
    site.write()


def acks_what_was_to_open_last(site: Site) -> None:
    """The second is visible earlier than the third, which is acknowledged."""
    site.ack(site.out, 0)
    site.change(site.out, 1, 2000)
    site.ack(site.out, 2)
    site.write()


def changes_to_sooner(site: Site) -> None:
    for number in range(3):
        site.change(site.out, number, 1000)
    site.write()


def changes_to_later(site: Site) -> None:
    site.change(site.out, 2, 8000)
    site.write()


def resets(site: Site) -> None:
    site.broker.offsets.assign_reset("G", "T", 0, 1)


def commits_back(site: Site) -> None:
    site.broker.offsets.commit("1.2.3.4:5", "G", "T", 0, 0)


def sets_the_clock_ahead(site: Site) -> None:
    site.clock.set_by = 3_600_000


# --- who waits


async def pull(site: Site) -> bool:
    header = PullHeader("G", "T", 0, 4, 32, SUSPEND | 4, None, HELD, 0, "*")
    response = await answer(
        site.broker.processor(PullMessage), site.broker.request(11, header, version=513)
    )
    return response.code in {0, 20, 21}


async def pop(site: Site) -> bool:
    return bool((await site.pop(pollTime=HELD)).code == 0)


async def orderly_pop(site: Site) -> bool:
    return bool((await site.pop(pollTime=HELD, order=True, attemptId="next")).code == 0)


async def told(site: Site, **fields: object) -> bool:
    fields = {"pollTime": HELD, "bornTime": 0, "queueId": -1, **fields}
    asked = site.ask(Notification, consumerGroup="G", topic="T", **fields)
    return bool((await asked).header.has_msg)


async def told_in_order(site: Site) -> bool:
    return await told(site, order=True)


KINDS: Final = {pull: "pull", pop: "pop", told: "notification", orderly_pop: "pop"}
WAITERS: Final = (pull, pop, told, orderly_pop, told_in_order)
NEVER: Final = None
"""It is none of its business: it stays held."""
# When each is answered, in the order of WAITERS. Those that are in order are answered when the block opens.
TABLE: Final[dict[Callable[[Site], None], tuple[float | None, ...]]] = {
    nothing: (NEVER, NEVER, NEVER, OPENS, OPENS),
    arrives: (AT, AT, AT, OPENS, OPENS),
    comes_again: (NEVER, AT, AT, OPENS, OPENS),
    acks_all: (NEVER, NEVER, NEVER, AT, AT),
    acks_in_a_batch: (NEVER, NEVER, NEVER, AT, AT),
    acks_one: (NEVER, NEVER, NEVER, OPENS, OPENS),
    acks_what_was_to_open_last: (NEVER, NEVER, NEVER, AT + 2, AT + 2),
    changes_to_sooner: (NEVER, NEVER, NEVER, AT + 1, AT + 1),
    changes_to_later: (NEVER, NEVER, NEVER, AT + 8, AT + 8),
    resets: (AT, AT, AT, AT, AT),
    # A pull says itself where it reads, and a block stays what it is.
    commits_back: (NEVER, AT, AT, OPENS, OPENS),
    # Looked at each second.
    sets_the_clock_ahead: (NEVER, NEVER, NEVER, AT + 0.5, AT + 0.5),
}
CELLS: Final = [
    pytest.param(event, waiter, second, id=f"{event.__name__}-{waiter.__name__}")
    for event, seconds in TABLE.items()
    for waiter, second in zip(WAITERS, seconds, strict=True)
]
# Tried elsewhere.
ELSEWHERE: Final = {
    "a gate opens, orderly pop": "tests/processors/pop/test_elastic_pops.py"
    "::test_it_is_answered_when_the_gate_opens",
    "a queue's time is up, orderly pop": "tests/processors/pop/test_orderly.py"
    "::test_who_waits_is_woken",
    "a message arrives, lite pop": "tests/processors/consume/test_light_queues.py"
    "::test_a_held_pop_is_woken_and_names_the_light_queues_offsets",
    "a message arrives, pull of a light queue": "tests/processors/consume/test_light_queues.py"
    "::test_a_held_pull_is_woken",
    "a message of an SQL filter arrives, pull": "tests/processors/consume/test_filtered_pulls.py"
    "::test_a_held_one_wakes_for_a_match",
    "a message arrives, pull of a compacted queue": "tests/processors/consume/test_compacted_pulls.py"
    "::test_a_held_one_wakes",
    "a message arrives, pull of a part": "tests/processors/consume/test_static_pulls.py"
    "::test_a_pull_that_is_held_wakes_for_its_part",
    "a queue moves to another broker, pull": "tests/processors/consume/test_static_pulls.py"
    "::test_a_held_pull_learns_that_its_queue_has_moved",
    "a gate opens, pull": "tests/broker/elastic/test_gate_waits.py"
    "::test_it_ends_at_once_when_a_gate_of_its_group_opens",
    "a reset, pull at a gate": "tests/processors/consume/test_elastic_pulls.py"
    "::test_an_owner_that_waits_for_messages_hears_of_a_reset_at_once",
    "a reply's record is durable": "tests/remoting/serving/test_connection.py"
    "::test_a_reply_waits_until_its_record_is_durable",
    "slaves have a reply's record": "tests/remoting/serving/test_connection.py"
    "::test_a_reply_that_waits_for_disk_and_slaves_needs_both",
    "a term ends, parked reply": "tests/remoting/serving/test_connection.py"
    "::test_a_reply_that_is_held_back_while_its_term_ends",
    "a woken client leaves, pop": "tests/processors/pop/test_pop.py"
    "::test_a_woken_pop_whose_client_leaves_passes_its_wake_on",
}


@pytest.fixture
async def make_site(tmp_path: Path) -> AsyncIterator[Callable[[bool], Site]]:
    made: list[Broker] = []

    def make(order: bool) -> Site:
        clock = SetClock()
        broker = Broker(tmp_path / "store", BrokerConfig(), clock)
        broker.store.open()
        broker.groups.find("G", "1.2.3.4:5")
        made.append(broker)
        return Site(broker, clock, order)

    yield make
    for broker in made:
        broker.store.close()


@pytest.mark.parametrize(("event", "waiter", "second"), CELLS)
async def test_each_event_and_who_waits(
    autojump_clock: Any, make_site: Any, event: Any, waiter: Any, second: float | None
) -> None:
    site = make_site(order=waiter in {orderly_pop, told_in_order})
    found: list[float] = []

    async def wait() -> None:
        if await waiter(site):
            found.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        begin = trio.current_time()
        nursery.start_soon(site.broker.parts.services["open the blocks of orderly pops"])
        nursery.start_soon(wait)
        await trio.sleep(AT)
        assert not found
        event(site)
        await trio.sleep(20)
        nursery.cancel_scope.cancel()
    answered = [round(at - begin, 1) for at in found]
    assert answered == ([] if second is None else [pytest.approx(second, abs=0.05)])


@pytest.mark.parametrize("waiter", KINDS)
async def test_metrics_count_who_waits(autojump_clock: Any, make_site: Any, waiter: Any) -> None:
    site = make_site(order=waiter is orderly_pop)

    def counted() -> dict[str, float]:
        of_waits = (one for one in site.broker.parts.samples() if one.name == "trimq_waiting")
        return {one.labels["kind"]: one.value for one in of_waits if one.value}

    async with trio.open_nursery() as nursery:
        nursery.start_soon(waiter, site)
        await trio.testing.wait_all_tasks_blocked()
        assert counted() == {KINDS[waiter]: 1}
        nursery.cancel_scope.cancel()
    assert not counted()


async def test_what_a_failed_write_leaves_is_handed_out(
    autojump_clock: Any, make_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pop of the receive has found nothing, as the first one had it all."""
    site = make_site(order=False)
    site.put(b"4")
    first, second = site.pop(), site.pop(pollTime=HELD)
    assert first.code == 0
    site.fail_to_write(monkeypatch)
    begin = trio.current_time()
    assert site.bodies(await second) == [b"4"]
    assert trio.current_time() == begin


async def test_what_a_waiting_pop_could_not_store_is_for_the_next_one(
    autojump_clock: Any, make_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(order=False)
    store, found = site.broker.store, []
    write = store.write_staged

    async def wait() -> None:
        try:
            found.append(await site.pop(pollTime=HELD))
        except Exception as error:
            found.append(error)

    def fail_once() -> None:
        monkeypatch.setattr(store, "write_staged", write)
        site.fail_to_write(monkeypatch)
        raise RuntimeError("not stored")

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
        monkeypatch.setattr(store, "write_staged", fail_once)
        begin = trio.current_time()
        site.put(b"4")
    assert trio.current_time() == begin
    assert [type(one) for one in found] == [RuntimeError, Response]
    assert site.bodies(found[1]) == [b"4"]


async def test_a_batch_without_a_time_opens_when_that_of_the_pop_is_over(
    autojump_clock: Any, make_site: Any
) -> None:
    """As one that a file has without it: the next pop's time counts from then on."""
    site = make_site(order=True)
    acks_all(site)
    begin = trio.current_time()
    assert site.pop(order=True, invisibleTime=0).code == 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(site.broker.parts.services["open the blocks of orderly pops"])
        again = await site.pop(order=True, attemptId="x", invisibleTime=3000, pollTime=HELD)
        nursery.cancel_scope.cancel()
    assert again.code == 0
    assert trio.current_time() - begin == pytest.approx(3, abs=0.05)


async def test_a_peek_never_waits(make_site: Any) -> None:
    """Nor do those that lock queues: they are answered what is so now (`QueueLocks.lock` is no coroutine)."""
    site = make_site(order=False)
    asked = site.ask(PeekMessage, consumerGroup="G", topic="T", queueId=0, maxMsgNums=1)
    assert isinstance(asked, Response)


@pytest.mark.parametrize("where", ELSEWHERE.values())
def test_what_is_tried_elsewhere_is_there(where: str) -> None:
    path, _, name = where.partition("::")
    assert f"def {name}(" in Path(path).read_text()
