"""Orderly pops, their acknowledgements and changes of the time, asked of a broker in memory."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from tests.detached import finished
from tests.processors.pop.conftest import header_of
from trimq.broker.pop.order.rules import OrderedQueue
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.fast_pop import AckHeader, decode_pop
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.codec.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    NotificationRequestHeader,
    PopMessageRequestHeader,
)
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.pop.ack_message import AckMessage
from trimq.processors.pop.batch_ack_message import BatchAckMessage
from trimq.processors.pop.change_message_invisible_time import ChangeMessageInvisibleTime
from trimq.processors.pop.notification import Notification
from trimq.processors.pop.pop_message import PopMessage
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.remoting.contract import RemotingError, Response
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message

NOTHING, NO_MESSAGE, ILLEGAL = 210, 208, 13


class Ordered:
    """Pops from T for G."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.orderly = broker.processor(AckMessage)._acking._orderly
        broker.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 1, 0)
        broker.groups.find("G", "1.2.3.4:5")

    def put(self, count: int, tags: str = "", queue_id: int = 0) -> None:
        properties = f"TAGS\x01{tags}\x02".encode()
        for _ in range(count):
            self.broker.store.put(Message("T", queue_id, b"x", properties))

    def request(self, attempt: str | None = None, **fields: Any) -> Any:
        usual = {
            "consumer_group": "G",
            "topic": "T",
            "queue_id": -1,
            "max_msg_nums": 2,
            "invisible_time": 10_000,
            "born_time": self.broker.clock.now,
            "order": True,
            "attempt_id": attempt,
        }
        header = PopMessageRequestHeader(**{**usual, **fields})
        return self.broker.request(200050, decode_pop(encode_header(header)))

    async def pop(self, attempt: str | None = None, **fields: Any) -> Response:
        processor = self.broker.processor(PopMessage)
        return await answer(processor, self.request(attempt, **fields))

    async def popped(self, attempt: str | None = None, **fields: Any) -> str:
        """Which messages; empty for none."""
        response = await self.pop(attempt, **fields)
        return str(header_of(response).msg_offset_info or "")

    def handle(self, offset: int, pop_time: int | None = None, queue_id: int = 0) -> str:
        pop_time = self.broker.clock.now if pop_time is None else pop_time
        return f"{offset} {pop_time} 10000 999 0 broker-a {queue_id} {offset}"

    def ack(self, offset: int, pop_time: int | None = None) -> tuple[int, str | None]:
        header = AckHeader("G", "T", 0, self.handle(offset, pop_time), offset, None)
        return self._code(AckMessage, header)

    def batch_ack(self, *starts: int, bits: str = "Aw==") -> tuple[int, str | None]:
        now = self.broker.clock.now
        acks = [
            BatchAck(b=bits, c="G", it=10_000, pt=now, q=0, r="0", rq=999, so=start, t="T")
            for start in starts
        ]
        body = encode_body(BatchAckMessageRequestBody(acks=acks, broker_name="broker-a"))
        return self._code(BatchAckMessage, None, body)

    def _code(self, kind: Any, header: Any, body: bytes = b"") -> tuple[int, str | None]:
        processor = self.broker.processor(kind)
        try:
            response = processor.handle(self.broker.request(0, header, body))
        except RemotingError as error:
            return int(error.code), error.remark
        return int(response.code), response.remark

    def change(self, offset: int, invisible: int, pop_time: int | None = None) -> Any:
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group="G",
            topic="T",
            queue_id=0,
            extra_info=self.handle(offset, pop_time),
            offset=offset,
            invisible_time=invisible,
        )
        processor = self.broker.processor(ChangeMessageInvisibleTime)
        found = processor.handle(self.broker.request(200053, header)).header
        return found.pop_time, found.invisible_time, found.revive_qid

    @property
    def committed(self) -> int:
        return int(self.broker.offsets.query("G", "T", 0))


@pytest.fixture
def ordered(broker: Any) -> Ordered:
    return Ordered(broker)


async def test_what_a_pop_answers(ordered: Ordered) -> None:
    ordered.put(5)
    now = ordered.broker.clock.now
    response = await ordered.pop("a")
    header = header_of(response)
    assert (response.code, response.remark, response.staged) == (0, "FOUND", False)
    assert (header.pop_time, header.invisible_time, header.revive_qid) == (now, 10_000, 999)
    assert (header.start_offset_info, header.msg_offset_info) == ("0 0 0", "0 0 0,1")
    assert (header.order_count_info, header.rest_num) == ("0 0 0", 3)
    assert ordered.committed == 0
    assert not ordered.broker.records("rmq_sys_wheel_timer")
    again = header_of(await ordered.pop("a", max_msg_nums=3))
    assert (again.msg_offset_info, again.order_count_info) == ("0 0 0,1,2", "0 0 0")
    other = await ordered.pop("b")
    assert (other.code, other.remark) == (NOTHING, "NO_MESSAGE_IN_QUEUE")
    # What is blocked is not waited for.
    assert (header_of(other).rest_num, header_of(other).order_count_info) == (0, "")
    ordered.broker.clock.now += 10_000
    later = header_of(await ordered.pop("b", max_msg_nums=4))
    assert later.order_count_info == "0 qo0%0 1;0 qo0%1 1;0 qo0%2 1;0 0 0"


async def test_retry_topics_are_not_read(ordered: Ordered) -> None:
    ordered.broker.topics.create_in_send_back("%RETRY%G_T", 1, 6, 0)
    ordered.broker.store.put(Message("%RETRY%G_T", 0, b"x", b""))
    for _ in range(10):
        assert await ordered.popped() == ""


async def test_acknowledged_in_any_order(ordered: Ordered) -> None:
    ordered.put(5)
    assert await ordered.popped() == "0 0 0,1"
    assert ordered.ack(1) == (0, None)
    assert ordered.committed == 0
    assert await ordered.popped() == ""
    assert ordered.ack(0) == (0, None)
    assert ordered.committed == 2
    assert await ordered.popped() == "0 0 2,3"
    # Late, twice, and what is not there.
    assert ordered.ack(0) == ordered.ack(1, 5) == (0, None)
    assert ordered.ack(3, 5) == (0, None)
    assert ordered.committed == 2
    code, remark = ordered.ack(4)
    assert code == ILLEGAL
    assert remark == "offset is illegal, key:T@G@0, old:2, commit:4, next:-1, /10.0.0.7:4711"
    assert ordered.ack(6)[0] == NO_MESSAGE


async def test_batches_of_acknowledgements(ordered: Ordered) -> None:
    ordered.put(5)
    await ordered.popped()
    assert ordered.batch_ack(0) == (0, None)
    assert ordered.committed == 2
    await ordered.popped()
    code, remark = ordered.batch_ack(4, 2, 0)
    assert code == ILLEGAL
    assert remark is not None
    assert "commit:5, next:-1" in remark
    # The others counted.
    assert ordered.committed == 4
    assert ordered.batch_ack(100) == (0, None)


async def test_changed_times(ordered: Ordered) -> None:
    ordered.put(5)
    clock, start = ordered.broker.clock, ordered.broker.clock.now
    await ordered.popped()
    clock.now += 1000
    assert ordered.change(0, 20_000, start) == (start, 21_000, 999)
    assert ordered.ack(1, start) == (0, None)
    clock.now = start + 20_999
    assert await ordered.popped() == ""
    assert ordered.change(0, 0, start) == (start, 20_999, 999)
    assert await ordered.popped() == "0 0 0,1"
    assert ordered.ack(0) == (0, None)
    assert ordered.change(0, 5) == (0, 0, 0)
    # Of a pop before: the time is as asked, and nothing is done.
    assert ordered.change(1, 0, start) == (start, 20_999, 999)
    assert await ordered.popped() == ""


async def test_visible_at_once_together_only(ordered: Ordered) -> None:
    """One of two is visible: the other one still blocks."""
    ordered.put(5)
    await ordered.popped()
    assert ordered.change(0, 0)[1] == 0
    assert await ordered.popped() == ""
    assert ordered.change(1, 0)[1] == 0
    assert await ordered.popped() == "0 0 0,1"


async def test_one_attempt_of_two_consumers(ordered: Ordered) -> None:
    ordered.put(5)
    first = ordered.broker.clock.now
    assert await ordered.popped("a") == "0 0 0,1"
    ordered.broker.clock.now += 1
    assert await ordered.popped("a", max_msg_nums=4) == "0 0 0,1,2,3"
    # The first one's handles are of a batch that is replaced.
    assert ordered.ack(0, first) == ordered.ack(1, first) == (0, None)
    assert ordered.committed == 0
    assert ordered.ack(0) == (0, None)
    assert await ordered.popped("a") == "0 0 1,2"


async def test_another_attempt_waits(ordered: Ordered) -> None:
    ordered.put(5)
    assert await ordered.popped("a") == "0 0 0,1"
    assert await ordered.popped("b") == ""
    assert await ordered.popped() == ""


async def test_one_attempt_does_not_pass_over_what_is_out(ordered: Ordered) -> None:
    ordered.put(1, "A")
    ordered.put(1, "B")
    assert await ordered.popped("a", exp_type="TAG", exp="A", max_msg_nums=1) == "0 0 0"
    assert await ordered.popped("a", exp_type="TAG", exp="C") == ""
    assert ordered.committed == 0
    assert ordered.ack(0) == (0, None)
    assert await ordered.popped("a", exp_type="TAG", exp="C") == ""
    assert ordered.committed == 2


async def test_a_lost_block_loses_no_message(ordered: Ordered) -> None:
    """As after kill -9: only the very next message may be acknowledged without its batch."""
    ordered.put(5)
    await ordered.popped()
    ordered.orderly._blocks.forget("T", "G", 0)
    assert ordered.ack(1) == (0, None)
    assert ordered.committed == 0
    assert ordered.ack(0) == (0, None)
    assert ordered.committed == 1
    assert await ordered.popped() == "0 0 1,2"


async def test_a_reset_opens_the_queue(ordered: Ordered) -> None:
    ordered.put(5)
    await ordered.popped()
    assert ordered.ack(0) == (0, None)
    ordered.broker.offsets.assign_reset("G", "T", 0, 3)
    # The offset that an operator has set stays.
    assert ordered.ack(1) == (0, None)
    assert ordered.committed == 3
    assert await ordered.popped() == "0 0 3,4"


async def test_deleted(ordered: Ordered) -> None:
    blocks, queue = ordered.orderly._blocks, OrderedQueue("T", "G", 0)
    for kind, header in (
        (DeleteSubscriptiongroup, DeleteSubscriptionGroupRequestHeader(group_name="G")),
        (DeleteTopicInBroker, DeleteTopicRequestHeader(topic="T")),
    ):
        ordered.put(1)
        ordered.broker.clock.now += 10_000
        await ordered.popped()
        assert blocks.find(queue) is not None
        await finished(ordered.broker.processor(kind), ordered.broker.request(0, header))
        assert blocks.find(queue) is None


class TrioClock:
    """The broker's time is that of Trio's mock clock."""

    def __init__(self, broker: Any) -> None:
        start = broker.clock.now - trio.current_time() * 1000
        broker.clock.__class__ = type(
            "Moving",
            (type(broker.clock),),
            {"millis": lambda _: round(start + trio.current_time() * 1000)},
        )


@pytest.mark.parametrize("queue_id", [-1, 0])
async def test_who_waits_is_woken(
    make_broker: Callable[..., Any], autojump_clock: trio.testing.MockClock, queue_id: int
) -> None:
    broker = make_broker()
    TrioClock(broker)
    ordered = Ordered(broker)
    ordered.put(3)
    found: list[tuple[str, float]] = []

    async def wait(start: float) -> None:
        born = broker.clock.millis()
        offsets = await ordered.popped(
            born_time=born, poll_time=60_000, queue_id=queue_id, max_msg_nums=1
        )
        found.append((offsets, trio.current_time() - start))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ordered.orderly.block_timeouts.run)
        # The time of the block is up.
        assert await ordered.popped() == "0 0 0,1"
        at = broker.clock.millis()
        await wait(trio.current_time())
        assert found.pop() == ("0 0 0", pytest.approx(10, abs=0.01))
        # Its last message is acknowledged.
        at = broker.clock.millis()
        nursery.start_soon(wait, trio.current_time())
        await trio.sleep(1)
        ordered.ack(0, at)
        await trio.testing.wait_all_tasks_blocked()
        assert found.pop() == ("0 0 1", pytest.approx(1))
        # It is visible earlier, and then later, than it was to be.
        at = broker.clock.millis()
        nursery.start_soon(wait, trio.current_time())
        await trio.sleep(1)
        ordered.change(1, 1000, at)
        await trio.sleep(0.5)
        ordered.change(1, 30_000, at)
        await trio.sleep(20)
        assert not found
        await trio.sleep(10.6)
        assert found.pop() == ("0 0 1", pytest.approx(31.5, abs=0.01))
        nursery.cancel_scope.cancel()


def notice(broker: Any, poll_time: int) -> Any:
    """Ask to be told of messages that could be popped in order."""
    header = NotificationRequestHeader(
        consumer_group="G",
        topic="T",
        queue_id=-1,
        poll_time=poll_time,
        born_time=broker.clock.millis(),
        order=True,
        attempt_id="another",
    )
    return broker.request(200054, header)


async def test_who_asked_to_be_told_is_told_when_a_block_opens(
    make_broker: Callable[..., Any], autojump_clock: trio.testing.MockClock
) -> None:
    broker = make_broker()
    TrioClock(broker)
    ordered, told = Ordered(broker), broker.processor(Notification)
    ordered.put(3)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ordered.orderly.block_timeouts.run)
        await ordered.popped()
        start = trio.current_time()
        response = await answer(told, notice(broker, 60_000))
        assert response.header.has_msg
        assert trio.current_time() - start == pytest.approx(10, abs=0.01)
        nursery.cancel_scope.cancel()


async def test_a_reset_wakes_who_waits(
    make_broker: Callable[..., Any], autojump_clock: trio.testing.MockClock
) -> None:
    broker = make_broker()
    TrioClock(broker)
    ordered, told, found = Ordered(broker), broker.processor(Notification), []
    ordered.put(2)
    # In order, whose block is forgotten, and not in order: nothing is left.
    await ordered.popped()
    await ordered.popped(consumer_group="Other", order=False)
    broker.store.write_staged()

    async def wait(group: str, order: bool) -> None:
        born = broker.clock.millis()
        offsets = await ordered.popped(
            "another", born_time=born, poll_time=5_000, consumer_group=group, order=order
        )
        found.append((group, offsets))

    async def be_told() -> None:
        response = await answer(told, notice(broker, 5_000))
        found.append(("told", str(response.header.has_msg)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(be_told)
        nursery.start_soon(wait, "Other", False)
        await trio.testing.wait_all_tasks_blocked()
        start = trio.current_time()
        # Nobody can be served at the end.
        broker.offsets.assign_reset("G", "T", 0, 2)
        broker.offsets.assign_reset("Other", "T", 0, 2)
        await trio.testing.wait_all_tasks_blocked()
        assert not found
        broker.offsets.assign_reset("G", "T", 0, 0)
        broker.offsets.assign_reset("Other", "T", 0, 1)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(found) == [("Other", "0 0 1"), ("told", "True")]
        found.clear()
        await ordered.popped()
        nursery.start_soon(wait, "G", True)
        await trio.testing.wait_all_tasks_blocked()
        broker.offsets.assign_reset("G", "T", 0, 1)
        await trio.testing.wait_all_tasks_blocked()
        assert found == [("G", "0 0 1")]
        assert trio.current_time() == start
