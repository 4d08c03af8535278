"""What becomes of a message that has to wait, before anybody knows how the wheel works."""

from typing import Any

import pytest

from tests.broker.conftest import HandClock
from trimq.broker.produce.puts.rules import PutRefused, PutRules, put_answer
from trimq.broker.timers import schedule_rule
from trimq.broker.timers.schedule_rule import LONGEST_TO_WAIT, TimerRule, TimerVerdict, slot_time
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import LONGEST_PROPERTIES
from trimq.store.config import StoreConfig
from trimq.store.disk.usage import used_share
from trimq.store.messages.message import Message

MAX_LONG = 2**63 - 1


class Slots:
    """As much of the wheel as the rule asks for."""

    def __init__(self) -> None:
        self.waiting: dict[int, int] = {}

    def waiting_at(self, out_ms: int) -> int:
        return self.waiting.get(out_ms, 0)


class Rules:
    """Puts messages by the rules of a broker with these settings."""

    def __init__(self, clock: HandClock, **settings: Any) -> None:
        self.clock = clock
        self.config = StoreConfig(**settings)
        self.slots = Slots()
        timers = TimerRule(self.config, clock, self.slots)
        self.rules = PutRules((1000, 5000), lambda: None, timers)

    def put(self, topic: str = "T", queue_id: int = 3, **properties: object) -> Message:
        message = Message(topic, queue_id, b"x")
        texts = {key: str(value) for key, value in properties.items()}
        self.rules.apply(message, texts, None)
        return message

    def refusal(self, **properties: object) -> tuple[int, str]:
        with pytest.raises(PutRefused) as refused:
            self.put(**properties)
        return put_answer(refused.value, self.config, used_share)


@pytest.fixture
def rules(clock: HandClock) -> Rules:
    clock.now = 1_700_000_000_300
    return Rules(clock)


@pytest.mark.parametrize(
    ("properties", "out_ms"),
    [
        ({"TIMER_DELAY_SEC": 5}, 1_700_000_005_000),
        ({"TIMER_DELAY_MS": 5000}, 1_700_000_005_000),
        ({"TIMER_DELIVER_MS": 1_700_000_005_300}, 1_700_000_005_000),
        # A whole second is the end of the slot before it.
        ({"TIMER_DELIVER_MS": 1_700_000_005_000}, 1_700_000_004_000),
        ({"TIMER_DELIVER_MS": 1_700_000_005_001}, 1_700_000_005_000),
        # The slot may have begun already.
        ({"TIMER_DELAY_MS": 1}, 1_700_000_000_000),
        ({"TIMER_DELAY_MS": "+1"}, 1_700_000_000_000),
        # The first of them counts, in this order.
        ({"TIMER_DELIVER_MS": 1, "TIMER_DELAY_MS": 1, "TIMER_DELAY_SEC": 5}, 1_700_000_005_000),
        ({"TIMER_DELIVER_MS": 1, "TIMER_DELAY_MS": 5000}, 1_700_000_005_000),
        ({"TIMER_DELAY_SEC": 259_200}, 1_700_259_200_000),
    ],
)
def test_a_message_waits(rules: Rules, properties: dict[str, object], out_ms: int) -> None:
    message = rules.put(**properties)
    assert (message.topic, message.queue_id) == (TIMER_TOPIC, 0)
    given = {key: str(value) for key, value in properties.items()}
    added = {"TIMER_OUT_MS": str(out_ms), "REAL_TOPIC": "T", "REAL_QID": "3"}
    assert parse_properties(message.properties) == given | added


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": 0},
        {"TIMER_DELAY_MS": -1},
        {"TIMER_DELIVER_MS": 1_700_000_000_300},
        {"TIMER_DELIVER_MS": -5},
        # Java's sums turn over.
        {"TIMER_DELAY_MS": MAX_LONG},
        {"TIMER_DELAY_SEC": MAX_LONG},
        # It was on the wheel.
        {"TIMER_DELAY_SEC": 5, "TIMER_OUT_MS": "anything"},
    ],
)
def test_what_is_due_is_an_ordinary_message(rules: Rules, properties: dict[str, object]) -> None:
    message = rules.put(**properties)
    assert (message.topic, message.queue_id) == ("T", 3)
    given = {key: str(value) for key, value in properties.items()}
    assert parse_properties(message.properties) == given


def test_what_goes_to_the_wheel_by_name_is_left_alone(rules: Rules) -> None:
    message = rules.put(TIMER_TOPIC, TIMER_DELAY_SEC="x")
    assert (message.topic, message.queue_id) == (TIMER_TOPIC, 3)


def test_a_delay_level_beats_all(rules: Rules) -> None:
    message = rules.put(DELAY=1, TIMER_DELAY_SEC=5, TIMER_DELIVER_MS="x")
    assert (message.topic, message.queue_id) == ("SCHEDULE_TOPIC_XXXX", 0)


ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if"
    " set del msg, the delay time should be bigger than the current time"
)


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": "x", "TIMER_DELAY_MS": 1},
        {"TIMER_DELAY_MS": ""},
        {"TIMER_DELIVER_MS": "1.5"},
        {"TIMER_DELIVER_MS": MAX_LONG + 1},
        {"TIMER_DELIVER_MS": MAX_LONG},
        {"TIMER_DELAY_SEC": 259_201},
        {"TIMER_DELAY_MS": 259_200_001},
        {"TIMER_DELAY_SEC": 0, "TIMER_DEL_UNIQKEY": "U"},
    ],
)
def test_illegal_ones(rules: Rules, properties: dict[str, object]) -> None:
    assert rules.refusal(**properties) == (13, ILLEGAL)


def test_the_longest_delay_is_a_setting(clock: HandClock) -> None:
    rules = Rules(clock, timer_max_delay_sec=10)
    rules.put(TIMER_DELAY_SEC=10)
    assert "max delay 10000ms" in rules.refusal(TIMER_DELAY_SEC=11)[1]


@pytest.mark.parametrize("stopped", ["switched off", "nobody delivers"])
def test_without_a_wheel(clock: HandClock, stopped: str) -> None:
    rules = Rules(clock, timer_wheel_enable=stopped != "switched off")
    if stopped == "nobody delivers":
        rules.rules = PutRules((1000,), lambda: None, TimerRule(rules.config, clock, None))
    remark = "accurate timer message is not enabled, timerWheelEnable is false"
    # Even when it is due, and before anything else is looked at.
    for properties in ({"TIMER_DELAY_SEC": 0}, {"TIMER_DELAY_SEC": "x"}, {"TIMER_DELAY_MS": 5}):
        assert rules.refusal(**properties) == (1, remark)
    rules.put(TIMER_DELAY_SEC=5, TIMER_OUT_MS=5)


def test_a_full_slot(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(clock, timer_congest_num_each_slot=10)
    slot = clock.now + 4000
    chance = {"one in a thousand": 0}

    def put(waiting: int, drawn: int) -> bool:
        rules.slots.waiting[slot] = waiting
        chance["one in a thousand"] = drawn
        try:
            return rules.put(TIMER_DELIVER_MS=clock.now + 5000).topic == TIMER_TOPIC
        except PutRefused:
            return False

    monkeypatch.setattr(schedule_rule.random, "randrange", lambda most: chance["one in a thousand"])
    assert put(10, 999)
    assert not put(20, 0)
    # 4 above 10: of 1000 draws, those up to 396 get in.
    assert put(14, 396)
    assert not put(14, 397)
    assert rules.refusal(TIMER_DELIVER_MS=clock.now + 5000) == (
        1,
        "timer message is under flow control, max num limit is 20 or the current value is greater than"
        " 10 and less than 20, trigger random flow control",
    )
    rules.put(TIMER_DELIVER_MS=clock.now + 6000)


def test_what_could_not_be_delivered_is_not_taken(rules: Rules) -> None:
    """Every property that delivering adds, at its longest, still fits."""
    fixed = len(rules.put(TIMER_DELAY_SEC=5, k="").properties)
    longest = rules.put(TIMER_DELAY_SEC=5, k="v" * (LONGEST_TO_WAIT - fixed)).properties
    assert len(longest) == LONGEST_TO_WAIT
    added = (
        f"TIMER_ENQUEUE_MS\x01{MAX_LONG}\x02TIMER_DEQUEUE_MS\x01{MAX_LONG}\x02"
        f"TIMER_ROLL_TIMES\x01{2**31 - 1}\x02"
    )
    assert len(longest) + len(added) == LONGEST_PROPERTIES
    code, remark = rules.refusal(TIMER_DELAY_SEC=5, k="v" * (LONGEST_TO_WAIT - fixed + 1))
    assert (code, remark[:23]) == (13, "the message is illegal,")
    # One that does not wait has all the room.
    rules.put(TIMER_DELAY_SEC=0, k="v" * LONGEST_TO_WAIT)


@pytest.mark.parametrize("precision", [100, 200, 500, 1000])
def test_a_slot_ends_before_its_messages_are_due(precision: int) -> None:
    for deliver_ms in range(10_000, 12_001):
        out_ms = slot_time(deliver_ms, precision)
        assert out_ms % precision == 0
        assert out_ms < deliver_ms <= out_ms + precision


def test_verdicts_that_refuse_have_the_name_of_a_status() -> None:
    for verdict in TimerVerdict:
        assert verdict.value.startswith("WHEEL_TIMER_") is (
            verdict not in (TimerVerdict.ORDINARY, TimerVerdict.WAITS)
        )
