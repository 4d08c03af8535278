"""Lite topics by their requests: subscribing, popping, acknowledging."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from trimq.broker.lite.events import LiteEvents
from trimq.broker.pop.order.rules import OrderedBlocks
from trimq.broker.steps import Steps, at_once
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.lite import (
    LiteSubscriptionCtlRequestBody,
    LiteSubscriptionDTO,
    OffsetOption,
)
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast_pop import AckHeader
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.headers.pop import ChangeInvisibleTimeRequestHeader
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.lite.lite_subscription_ctl import LiteSubscriptionCtl
from trimq.processors.lite.pop_lite_message import PopLiteMessage
from trimq.processors.pop.ack_message import AckMessage
from trimq.processors.pop.change_message_invisible_time import ChangeMessageInvisibleTime
from trimq.remoting.contract import Later, RemotingError, Response
from trimq.store.messages.message import Message

ONE = "%LMQ%$T$one"


class Lite:
    def __init__(self, broker: Any) -> None:
        self.broker = broker
        broker.topics.update(TopicConfig(topic_name="T", attributes={"+message.type": "LITE"}))
        bound = {"+lite.bind.topic": "T"}
        broker.groups.update(SubscriptionGroupConfig(group_name="G", attributes=bound))

    def asked(self, action: Any, *names: str, **more: Any) -> Later:
        entry = LiteSubscriptionDTO(
            action=action,
            client_id=more.pop("client_id", "c"),
            group="G",
            topic="T",
            lite_topic_set=list(names or ("one",)),
            **more,
        )
        body = encode_body(LiteSubscriptionCtlRequestBody(subscription_set=[entry]))
        processor = self.broker.processor(LiteSubscriptionCtl)
        request = self.broker.request(RequestCode.LITE_SUBSCRIPTION_CTL, None, body)
        later: Later = processor.handle(request)
        return later

    def subscribe(self, action: Any = "PARTIAL_ADD", *names: str, **more: Any) -> Response:
        later = self.asked(action, *names, **more)

        async def answered() -> Response:
            found: Response = await later.answer(later.request)
            return found

        return trio.run(answered)

    def put(self, *bodies: bytes, queue: str = ONE) -> None:
        """As the store has them; arrivals are told by the part's listener."""
        for body in bodies:
            self.broker.store.put(Message(queue, 0, body))

    def pop(self, **fields: Any) -> Response | Later:
        usual: dict[str, Any] = {
            "client_id": "c",
            "consumer_group": "G",
            "topic": "T",
            "max_msg_num": 2,
            "invisible_time": 60_000,
            "poll_time": 0,
        }
        header = PopLiteMessageRequestHeader(**{**usual, **fields})
        request = self.broker.request(RequestCode.POP_LITE_MESSAGE, header)
        found: Response | Later = self.broker.processor(PopLiteMessage).handle(request)
        return found

    def popped(self, **fields: Any) -> int:
        """How many messages; 0 if it has to wait."""
        answer = self.pop(**fields)
        if isinstance(answer, Later):
            return 0
        body: Any = answer.body
        return sum(bytes(piece).count(b"body-") for piece in body)

    def ack(self, at: int, **fields: Any) -> Response:
        header = AckHeader(
            "G", "T", 0, f"0 {self.broker.clock.now} 60000 999 0 broker-a 0 {at}", at, "one"
        )
        for name, value in fields.items():
            setattr(header, name, value)
        request = self.broker.request(RequestCode.ACK_MESSAGE, header)
        found: Response = self.broker.processor(AckMessage).handle(request)
        return found

    def change(self, offset: int, invisible: int, suspend: bool = False) -> Response:
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group="G",
            topic="T",
            queue_id=0,
            extra_info=f"0 {self.broker.clock.now} 60000 999 0 broker-a 0 {offset}",
            offset=offset,
            invisible_time=invisible,
            lite_topic="one",
            suspend=suspend,
        )
        processor = self.broker.processor(ChangeMessageInvisibleTime)
        found: Response = processor.handle(
            self.broker.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        )
        return found


@pytest.fixture
def lite(broker: Any) -> Lite:
    return Lite(broker)


def test_messages_come_in_order_and_block_the_lite_topic(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1", b"body-2")
    lite.subscribe()
    answer = lite.pop()
    assert isinstance(answer, Response)
    header: Any = answer.header
    assert (answer.code, header.order_count_info, header.revive_qid) == (0, "0;0", 999)
    assert lite.popped() == 0
    lite.ack(0)
    assert lite.broker.offsets.query("G", ONE, 0) == 1
    assert lite.popped() == 0
    lite.ack(1)
    assert lite.popped() == 1


def test_what_comes_again_is_counted(lite: Lite) -> None:
    lite.put(b"body-0")
    lite.subscribe()
    assert lite.popped(invisible_time=100) == 1
    lite.broker.clock.now += 101
    lite.subscribe("PARTIAL_REMOVE")
    lite.subscribe()
    answer = lite.pop()
    assert isinstance(answer, Response)
    header: Any = answer.header
    assert header.order_count_info == "0 qo0%0 1"


def test_the_same_attempt_passes_the_block(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1")
    lite.subscribe()
    assert lite.popped(attempt_id="a", max_msg_num=1) == 1
    lite.subscribe("PARTIAL_REMOVE")
    lite.subscribe()
    assert lite.popped(attempt_id="a") == 2


def test_a_client_with_more_news_than_notes_is_answered(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its messages are out, or come later than others that the pop has room for."""
    names = [f"n{number:03}" for number in range(250)]
    for name in names:
        lite.put(b"body-0", b"body-1", queue=f"%LMQ%$T${name}")
    lite.subscribe("PARTIAL_ADD", *names)
    looks: list[str] = []
    look_at_client = LiteEvents.look_at_client

    def counted(events: LiteEvents, client_id: str, group: str) -> Steps[None]:
        looks.append(client_id)
        assert len(looks) < 300
        return look_at_client(events, client_id, group)

    monkeypatch.setattr(LiteEvents, "look_at_client", counted)
    found = [lite.popped(max_msg_num=1) for _ in names]
    assert found == [1] * 250
    before = len(looks)
    assert lite.popped(max_msg_num=32) == 0
    assert len(looks) <= before + 1
    # Even if each look finds more than fits.
    monkeypatch.setattr(OrderedBlocks, "free_at", lambda *_: None)
    monkeypatch.setattr(OrderedBlocks, "is_blocked", lambda *_: True)
    at_once(lite.broker.lite.events.look_at_client("c", "G"))
    before = len(looks)
    assert lite.popped(max_msg_num=32) == 0
    assert len(looks) == before + 1


def test_where_a_group_begins(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1", b"body-2")
    lite.subscribe(offset_option=OffsetOption(type="OFFSET", value=2))
    assert lite.popped() == 1
    assert lite.broker.offsets.query("G", ONE, 0) == 2
    lite.subscribe("PARTIAL_REMOVE")
    lite.subscribe(offset_option=OffsetOption(type="TAIL_N", value=1))
    assert lite.popped() == 2


def test_acknowledgements_that_are_refused(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1", b"body-2")
    lite.subscribe()
    lite.pop()
    refusals = {
        ResponseCode.NO_MESSAGE: {"offset": 4},
        ResponseCode.MESSAGE_ILLEGAL: {"offset": 2},
        ResponseCode.SYSTEM_ERROR: {"extra_info": "x"},
        ResponseCode.INVALID_PARAMETER: {"extra_info": "0 1 60000 3 0 broker-a 0 0"},
    }
    for code, fields in refusals.items():
        with pytest.raises(RemotingError) as refusal:
            lite.ack(0, **fields)
        assert refusal.value.code == code
    assert lite.broker.offsets.query("G", ONE, 0) == 0


def test_after_a_restart_an_acknowledgement_moves_past_the_next_message_only(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1", b"body-2")
    lite.broker.offsets.commit("c", "G", ONE, 0, 0)
    lite.ack(1)
    assert lite.broker.offsets.query("G", ONE, 0) == 0
    lite.ack(0)
    assert lite.broker.offsets.query("G", ONE, 0) == 1


def test_a_suspended_lite_topic_comes_again_without_an_attempt(lite: Lite) -> None:
    lite.put(b"body-0", b"body-1")
    lite.subscribe()
    assert lite.popped() == 2
    answer = lite.change(0, 500, suspend=True)
    header: Any = answer.header
    assert (header.invisible_time, header.revive_qid) == (500, 999)
    lite.broker.clock.now += 501
    lite.subscribe("PARTIAL_REMOVE")
    lite.subscribe()
    again = lite.pop()
    assert isinstance(again, Response)
    header = again.header
    assert header.order_count_info == "0 qo0%0 1;0 qo0%1 1"


def test_who_waits_is_woken_by_news(lite: Lite) -> None:
    lite.subscribe()

    async def play() -> Response:
        answers: list[Response] = []
        lite.broker.clock.now = 1
        waits = lite.pop(poll_time=10_000)
        assert isinstance(waits, Later)

        async def wait() -> None:
            answers.append(await waits.answer(waits.request))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            lite.put(b"body-0")
            lite.broker.lite.events.arrived(ONE)
        return answers[0]

    answer = trio.run(play)
    assert (answer.code, len(answer.body)) == (0, 1)


def test_what_comes_between_the_look_and_the_wait_is_not_missed(lite: Lite) -> None:
    lite.subscribe()

    async def play() -> tuple[Response, float]:
        waits = lite.pop(poll_time=20_000, born_time=lite.broker.clock.now)
        assert isinstance(waits, Later)
        lite.put(b"body-0")
        lite.broker.lite.events.arrived(ONE)
        began = trio.current_time()
        return await waits.answer(waits.request), trio.current_time() - began

    answer, seconds = trio.run(play, clock=trio.testing.MockClock(autojump_threshold=0))
    assert (answer.code, seconds) == (0, 0)


def test_a_pop_that_finds_nothing_ends_in_time(lite: Lite) -> None:
    lite.subscribe()

    async def play() -> Response:
        waits = lite.pop(poll_time=-1)
        assert isinstance(waits, Later)
        return await waits.answer(waits.request)

    answer = trio.run(play)
    assert (answer.code, answer.remark) == (ResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")


def test_lite_topics_go_with_their_parent(lite: Lite) -> None:
    lite.put(b"body-0")
    lite.subscribe()
    lite.pop()
    at_once(lite.broker.lite.life.delete_topic("T"))
    assert lite.broker.store.max_offset(ONE, 0) == 0
    assert (lite.broker.lite.subscriptions.count, len(lite.broker.lite.batches)) == (0, 0)
    assert lite.broker.offsets.query("G", ONE, 0) == -1


def test_nothing_stays_of_a_deleted_group(make_broker: Callable[..., Any]) -> None:
    broker = make_broker(lite_lag_latency_collect_enable=True)
    lite = Lite(broker)
    lite.put(b"body-0", b"body-1")
    lite.subscribe()
    assert lite.popped(max_msg_num=1) == 1
    mode = SetMessageRequestModeRequestBody(topic="T", consumer_group="G", mode="POP")
    broker.modes.put(mode)
    stays = SetMessageRequestModeRequestBody(topic="T", consumer_group="H", mode="POP")
    broker.modes.put(stays)
    assert broker.lite.lags.by_time("G", "T", 1)[0]
    broker.in_flight.popped("G", "T", 1)
    broker.in_flight.written()
    broker.in_flight.popped("G", "T", 1)
    header = DeleteSubscriptionGroupRequestHeader(group_name="G")
    broker.processor(DeleteSubscriptiongroup).handle(broker.request(0, header))
    broker.in_flight.written()
    assert (broker.lite.subscriptions.count, len(broker.lite.batches)) == (0, 0)
    assert broker.lite.lags.by_time("G", "T", 1)[0] == []
    assert list(broker.in_flight) == []
    assert (broker.modes.get("T", "G"), broker.modes.get("T", "H")) == (None, stays)


def test_an_empty_name_matters_only_where_names_do(lite: Lite) -> None:
    subscriptions = lite.broker.lite.subscriptions
    lite.subscribe()
    assert lite.subscribe("COMPLETE_REMOVE", "").code == ResponseCode.SUCCESS
    assert subscriptions.count == 0
    for action in ("PARTIAL_ADD", "PARTIAL_REMOVE", "COMPLETE_ADD"):
        with pytest.raises(RemotingError, match="empty name"):
            lite.subscribe(action, "")
    wildcard = {"+lite.bind.topic": "T", "+lite.sub.wildcard": "true"}
    lite.broker.groups.update(SubscriptionGroupConfig(group_name="G", attributes=wildcard))
    assert lite.subscribe("COMPLETE_ADD", "", client_id="all").code == ResponseCode.SUCCESS
    assert subscriptions.find("all") is not None


def test_a_beginning_without_a_kind_is_refused(lite: Lite) -> None:
    with pytest.raises(RemotingError, match="offsetOption has no type") as refusal:
        lite.subscribe(offset_option=OffsetOption(value=1))
    assert refusal.value.code == ResponseCode.SYSTEM_ERROR
    assert lite.broker.lite.subscriptions.count == 0


class Waiting:
    """A question for a route, answered when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lite: Lite) -> None:
        self.answered = trio.Event()
        monkeypatch.setattr(lite.broker.lite.sharding, "active", self.active)

    async def active(self, topic: str, queues: list[str]) -> list[str]:
        await self.answered.wait()
        return queues


@pytest.mark.parametrize("last", ["PARTIAL_REMOVE", "PARTIAL_ADD"])
async def test_one_clients_changes_do_not_overtake_one_another(
    lite: Lite, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    waiting = Waiting(monkeypatch, lite)
    actions = ["PARTIAL_ADD", "PARTIAL_REMOVE"]
    asked = [lite.asked(action) for action in (*actions * 10, *actions[: actions.index(last) + 1])]
    # Its connection has ended before it began.
    lite.asked("PARTIAL_ADD")
    other = lite.asked("PARTIAL_REMOVE", client_id="other")
    async with trio.open_nursery() as nursery:
        for later in asked:
            nursery.start_soon(later.answer, later.request)
        await other.answer(other.request)
        await trio.testing.wait_all_tasks_blocked()
        waiting.answered.set()
    assert lite.broker.lite.subscriptions.count == (last == "PARTIAL_ADD")
    assert not len(lite.broker.processor(LiteSubscriptionCtl)._order)


def test_a_lite_topic_expires(lite: Lite) -> None:
    attributes = {"+lite.topic.expiration": "30"}
    lite.broker.topics.update(TopicConfig(topic_name="T", attributes=attributes))
    lite.put(b"body-0")
    lite.put(b"body-1", queue="%LMQ%other")
    life = lite.broker.lite.life
    lite.broker.clock.now += 30 * 60_000
    trio.run(life.clean)
    assert life.exists(ONE)
    lite.broker.clock.now += 1
    trio.run(life.clean)
    assert not life.exists(ONE)
    assert life.exists("%LMQ%other")


def test_a_lite_topic_may_live_for_more_than_24_days(lite: Lite) -> None:
    """The milliseconds of 35,792 minutes do not fit into 32 bits."""
    attributes = {"+lite.topic.expiration": "35792"}
    lite.broker.topics.update(TopicConfig(topic_name="T", attributes=attributes))
    lite.put(b"body")
    life = lite.broker.lite.life
    lite.broker.clock.now += 35_791 * 60_000
    trio.run(life.clean)
    assert life.exists(ONE)
    lite.broker.clock.now += 60_001
    trio.run(life.clean)
    assert not life.exists(ONE)
