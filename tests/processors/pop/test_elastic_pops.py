"""Pops from an elastic topic: those in order wait at gates, all others read freely."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.cold import make_cold
from tests.processors.pop.conftest import header_of
from tests.processors.pop.test_orderly import Ordered
from trimq.broker.elastic.model import Move, new_topic
from trimq.codec.headers.pop import NotificationRequestHeader, PeekMessageRequestHeader
from trimq.processors.pop.notification import Notification
from trimq.processors.pop.peek_message import PeekMessage
from trimq.processors.pop.pop_message import PopMessage
from trimq.remoting.contract import RemotingError, Response
from trimq.remoting.exchange import Later
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

DONOR, RECEIVER = 0, 1


class Moved(Ordered):
    """T has 8 partitions; 0 went from queue 0, with 2 messages, to queue 1, which has 1 behind the start."""

    def __init__(self, broker: Any) -> None:
        super().__init__(broker)
        self.elastic = broker.elastic
        self.elastic.maps.create("T", new_topic(1, 8))
        self.elastic.maps.resize("T", 2, 1)
        self.put(2, queue_id=DONOR)

    def move(self) -> None:
        self.elastic.maps.change("T", Move({0: RECEIVER}))
        self.put(1, queue_id=RECEIVER)

    def notify(self, queue_id: int) -> bool:
        header = NotificationRequestHeader(
            consumer_group="G",
            topic="T",
            queue_id=queue_id,
            poll_time=0,
            born_time=self.broker.clock.now,
            order=True,
        )
        answer = self.broker.processor(Notification).handle(self.broker.request(0, header))
        return isinstance(answer, Response) and bool(answer.header.has_msg)

    def peek(self, queue_id: int) -> int:
        header = PeekMessageRequestHeader(
            consumer_group="G", topic="T", queue_id=queue_id, max_msg_nums=8
        )
        answer = self.broker.processor(PeekMessage).handle(self.broker.request(0, header))
        assert isinstance(answer, Response)
        return int(answer.code)


@pytest.fixture
def moved(broker: Any) -> Moved:
    return Moved(broker)


async def test_an_orderly_pop_waits_until_the_donor_is_acknowledged(moved: Moved) -> None:
    assert await moved.popped(queue_id=DONOR)
    assert moved.elastic.groups.is_gated("G", "T")
    moved.move()
    assert not await moved.popped(queue_id=RECEIVER)
    assert moved.ack(0)[0] == 0
    assert not await moved.popped(queue_id=RECEIVER)
    assert moved.ack(1)[0] == 0
    assert await moved.popped(queue_id=RECEIVER)


async def test_the_first_orderly_pop_is_gated_already(moved: Moved) -> None:
    moved.move()
    assert not await moved.popped(queue_id=RECEIVER)
    assert await moved.popped(queue_id=DONOR)


async def test_it_is_answered_when_the_gate_opens(moved: Moved, autojump_clock: MockClock) -> None:
    await moved.popped(queue_id=DONOR)
    moved.move()
    answers: list[str] = []

    async def wait() -> None:
        answers.append(await moved.popped(queue_id=RECEIVER, poll_time=15_000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert not answers
        moved.ack(0)
        moved.ack(1)
    assert answers[0]


async def test_other_pops_read_freely(moved: Moved) -> None:
    moved.move()
    assert await moved.popped(queue_id=RECEIVER, order=False)
    assert not moved.elastic.groups.is_gated("G", "T")


async def test_neither_a_look_nor_a_notice_promises_what_is_closed(moved: Moved) -> None:
    await moved.popped(queue_id=DONOR)
    moved.move()
    assert not moved.notify(RECEIVER)
    closed = moved.peek(RECEIVER)
    moved.ack(0)
    moved.ack(1)
    assert moved.notify(RECEIVER)
    assert (closed, moved.peek(RECEIVER)) == (19, 0)


async def test_after_a_reset_it_goes_on_from_there(moved: Moved) -> None:
    await moved.popped(queue_id=DONOR)
    moved.move()
    moved.ack(0)
    moved.ack(1)
    await moved.popped(queue_id=RECEIVER)
    moved.broker.offsets.assign_reset("G", "T", DONOR, 0)
    assert not await moved.popped(queue_id=RECEIVER)
    assert await moved.popped(queue_id=DONOR)
    moved.ack(0)
    assert not await moved.popped(queue_id=RECEIVER)
    moved.ack(1)
    assert moved.committed == 2
    assert await moved.popped(queue_id=RECEIVER)


@pytest.mark.parametrize(
    ("before", "resets", "handed_out"),
    [(0, False, "0 1 0"), (0, True, ""), (1, False, "0 1 0,1"), (1, True, "0 1 0")],
)
async def test_what_was_on_the_disk_waits_at_a_gate_that_has_closed_meanwhile(
    moved: Moved, monkeypatch: pytest.MonkeyPatch, before: int, resets: bool, handed_out: str
) -> None:
    """`before`: so many messages lie before the start."""
    moved.put(before, queue_id=RECEIVER)
    await moved.popped(queue_id=DONOR)
    moved.move()
    moved.ack(0)
    moved.ack(1)
    make_cold(monkeypatch, moved.broker.store)
    request = moved.request(queue_id=RECEIVER)
    decided = moved.broker.processor(PopMessage).handle(request)
    assert isinstance(decided, Later)
    if resets:
        moved.broker.offsets.assign_reset("G", "T", DONOR, 0)
    answer = await decided.answer(request)
    assert str(header_of(answer).msg_offset_info or "") == handed_out


async def test_a_pop_that_cannot_be_recorded_is_refused(
    moved: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr("trimq.store.message_store.MessageStore.put", fail)
        with pytest.raises(RemotingError, match="the pop could not be recorded: the disk is away"):
            await moved.pop(queue_id=DONOR)
    assert not moved.elastic.groups.is_gated("G", "T")


async def test_ordinary_topics_are_not_gated(moved: Moved) -> None:
    moved.broker.topics.create_in_send("Other", "TBW102", "1.2.3.4:5", 1, 0)
    moved.broker.store.put(Message("Other", 0, b"x"))
    assert await moved.popped(topic="Other")
    assert not moved.elastic.groups.is_gated("G", "Other")
