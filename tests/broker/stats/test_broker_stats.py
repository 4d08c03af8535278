"""Figures per minute, hour and day, from samples of what went in and out."""

from typing import Any

import pytest

from trimq.broker.stats.broker_stats import (
    DAY,
    HOUR,
    MINUTE,
    ZERO,
    BrokerStats,
    Figure,
    Rates,
    Samples,
)
from trimq.broker.stats.traffic import Traffic
from trimq.broker.steps import at_once
from trimq.store.messages.message import Dispatched


def record(topic: str, size: int = 100, properties: bytes = b"", sys_flag: int = 0) -> Dispatched:
    return Dispatched(topic, 0, 0, 0, size, 0, 0, sys_flag, properties)


class Counted:
    """Traffic and its figures on a clock that the test moves."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.traffic = Traffic(lambda topic: topic.startswith("SYS"))
        self.stats = BrokerStats("C", self.traffic, self.clock)

    async def pass_minute_samples(self, count: int) -> None:
        for _ in range(count):
            self.clock.now += MINUTE.millis
            await self.stats.sample(MINUTE)

    def minute(self, name: str, key: str) -> Figure:
        figures = self.stats.figures(name, key)
        assert figures is not None
        return figures[0]


@pytest.fixture
def counted(clock: Any) -> Counted:
    return Counted(clock)


async def test_messages_of_a_topic(counted: Counted) -> None:
    counted.traffic.stored([record("T"), record("T", 300), record("U"), record("T")])
    assert counted.stats.figures("TOPIC_PUT_NUMS", "T") == [ZERO, ZERO, ZERO]
    await counted.pass_minute_samples(1)
    assert counted.minute("TOPIC_PUT_NUMS", "T") == Figure(3, 0.3, 1.0)
    assert counted.minute("TOPIC_PUT_SIZE", "T") == Figure(500, 50.0, 500 / 3)
    assert counted.minute("BROKER_PUT_NUMS", "C") == Figure(4, 0.4, 0.0)
    assert counted.stats.written_per_second("T") == 0.3
    await counted.stats.sample(HOUR)
    await counted.stats.sample(DAY)
    figures = counted.stats.figures("TOPIC_PUT_NUMS", "T")
    assert figures == [Figure(3, 0.3, 1.0), Figure(3, 0.005, 1.0), Figure(3, 3 / 3600, 1.0)]


async def test_a_minute_is_over_after_six_samples(counted: Counted) -> None:
    counted.traffic.stored([record("T")] * 60)
    await counted.pass_minute_samples(6)
    assert counted.minute("TOPIC_PUT_NUMS", "T") == Figure(60, 1.0, 1.0)
    await counted.pass_minute_samples(1)
    assert counted.minute("TOPIC_PUT_NUMS", "T") == ZERO
    counted.traffic.stored([record("T")] * 30)
    await counted.pass_minute_samples(1)
    assert counted.minute("TOPIC_PUT_NUMS", "T") == Figure(30, 0.5, 1.0)


async def test_messages_pulled_and_sent_back(counted: Counted) -> None:
    counted.traffic.handed_out("g", "T", 32, 6400)
    counted.traffic.handed_out("g", "T", 8, 1600)
    counted.traffic.came_back("g", "T")
    await counted.pass_minute_samples(1)
    assert counted.minute("GROUP_GET_NUMS", "T@g") == Figure(40, 4.0, 20.0)
    assert counted.minute("GROUP_GET_SIZE", "T@g") == Figure(8000, 800.0, 4000.0)
    assert counted.minute("SNDBCK_PUT_NUMS", "T@g") == Figure(1, 0.1, 1.0)
    assert counted.minute("BROKER_GET_NUMS", "C") == Figure(40, 4.0, 0.0)
    assert counted.stats.pulled_per_second("g", "T") == 4.0
    assert counted.stats.pulled_per_second("g", "U") == 0.0


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("TOPIC_PUT_NUMS", "T"),
        ("NONSENSE", "T"),
        ("BROKER_PUT_NUMS", "C"),
        ("BROKER_GET_NUMS", "C"),
    ],
)
def test_what_was_never_counted(counted: Counted, name: str, key: str) -> None:
    assert counted.stats.figures(name, key) is None


async def test_deleted_topics_and_groups_are_forgotten(counted: Counted) -> None:
    counted.traffic.stored([record("T")])
    counted.traffic.handed_out("g", "T", 1, 100)
    counted.traffic.handed_out("g", "TT", 1, 100)
    counted.traffic.came_back("gg", "T")
    await counted.pass_minute_samples(1)
    at_once(counted.traffic.forget_topic("T"))
    assert counted.stats.figures("TOPIC_PUT_NUMS", "T") is None
    assert counted.stats.figures("GROUP_GET_NUMS", "T@g") is None
    assert counted.stats.figures("SNDBCK_PUT_NUMS", "T@gg") is None
    assert counted.stats.figures("GROUP_GET_NUMS", "TT@g") is not None
    at_once(counted.traffic.forget_group("g"))
    assert counted.stats.figures("GROUP_GET_NUMS", "TT@g") is None
    counted.traffic.stored([record("T")])
    await counted.pass_minute_samples(1)
    assert counted.minute("TOPIC_PUT_NUMS", "T").sum == 1


def test_a_record_may_hold_several_messages(counted: Counted) -> None:
    wrapped = record("T", properties=b"INNER_NUM\x015\x02", sys_flag=1 << 7)
    counted.traffic.stored([wrapped, record("T", properties=b"INNER_NUM\x015\x02")])
    flow = counted.traffic.topics["T"]
    assert (flow.messages, flow.goes) == (6, 2)


def test_totals_leave_out_system_topics(counted: Counted) -> None:
    counted.traffic.stored([record("SYS"), record("T")])
    counted.traffic.handed_out("g", "SYS", 5, 1)
    counted.traffic.handed_out("g", "T", 2, 1)
    assert counted.stats.totals() == (1, 2)
    assert counted.stats.stored() == (2, 200)


def test_totals_at_midnight(counted: Counted) -> None:
    day = 24 * 3600 * 1000
    counted.traffic.stored([record("T")])
    counted.stats.tick()
    assert (counted.stats.this_morning, counted.stats.yesterday_morning) == ((0, 0), (0, 0))
    counted.clock.now += day
    counted.stats.tick()
    counted.traffic.stored([record("T")])
    counted.stats.tick()
    assert (counted.stats.this_morning, counted.stats.yesterday_morning) == ((1, 0), (0, 0))
    counted.clock.now += day
    counted.stats.tick()
    assert (counted.stats.this_morning, counted.stats.yesterday_morning) == ((2, 0), (1, 0))


def test_rates_need_their_time() -> None:
    rates = Rates()
    for second in range(12):
        assert rates.over(10, 0) is None or second > 10
        rates.add(second * 1000, (second * 5, 0))
    assert (rates.over(10, 0), rates.over(10, 1), rates.over(60, 0)) == (5.0, 0.0, None)


def test_a_clock_that_stands_still_gives_no_rate() -> None:
    samples = Samples()
    samples.add(MINUTE.millis, (1, 1, 1), MINUTE)
    samples.add(0, (2, 1, 1), MINUTE)
    assert samples.figure(0) == Figure(2, 0.0, 2.0)


async def test_many_flows_are_sampled_in_steps(counted: Counted, monkeypatch: Any) -> None:
    steps = []

    async def checkpoint() -> None:
        steps.append(1)

    monkeypatch.setattr("trio.lowlevel.checkpoint", checkpoint)
    for number in range(1200):
        counted.traffic.stored([record(f"T{number}")])
    await counted.stats.sample(MINUTE)
    assert len(steps) == 2


REVIVE = "rmq_sys_REVIVE_LOG_C"


def real_topic(topic: str) -> bytes:
    return b"K\x01v\x02REAL_TOPIC\x01%s\x02" % topic.encode()


@pytest.mark.parametrize(
    ("written", "put", "of_topic"),
    [
        pytest.param(record("T"), 1, 1, id="a send"),
        pytest.param(record("RMQ_SYS_TRANS_HALF_TOPIC"), 1, 1, id="a half message"),
        pytest.param(record("RMQ_SYS_TRANS_OP_HALF_TOPIC"), 0, None, id="an op"),
        pytest.param(record("TRANS_CHECK_MAX_TIME_TOPIC"), 0, None, id="a half that was given up"),
        pytest.param(record(REVIVE), 0, None, id="a note of POP that is due"),
        pytest.param(
            record("rmq_sys_wheel_timer", properties=real_topic(REVIVE)),
            0,
            None,
            id="a note of POP",
        ),
        pytest.param(
            record("rmq_sys_wheel_timer", properties=real_topic("T")), 1, 1, id="a timer message"
        ),
        pytest.param(
            record("SCHEDULE_TOPIC_XXXX", properties=real_topic("T")), 1, 1, id="a delayed message"
        ),
        pytest.param(
            record("SCHEDULE_TOPIC_XXXX", properties=real_topic("%RETRY%g")), 0, 1, id="sent back"
        ),
        pytest.param(record("%RETRY%g"), 1, 1, id="what was sent back comes again"),
        pytest.param(record("%DLQ%g"), 0, None, id="a dead letter"),
        pytest.param(record("rmq_sys_ELASTIC_MAP"), 0, None, id="a map of an elastic topic"),
    ],
)
async def test_what_the_broker_writes_for_itself_is_put_by_nobody(
    counted: Counted, written: Dispatched, put: int, of_topic: int | None
) -> None:
    counted.traffic.stored([record("U"), written, written, record("U")])
    await counted.pass_minute_samples(1)
    assert counted.minute("BROKER_PUT_NUMS", "C").sum == 2 + 2 * put
    # Where it is written is known all the same: the rates of the store are of all.
    assert counted.stats.stored()[0] == 4
    figures = counted.stats.figures("TOPIC_PUT_NUMS", written.topic)
    assert (None if figures is None else figures[0].sum) == (
        None if of_topic is None else 2 * of_topic
    )


async def test_notes_and_timers_of_one_write(counted: Counted) -> None:
    both = [record("rmq_sys_wheel_timer", 10, real_topic(name)) for name in (REVIVE, "T", REVIVE)]
    counted.traffic.stored(both)
    counted.traffic.stored(both[:1])
    await counted.pass_minute_samples(1)
    assert counted.minute("TOPIC_PUT_NUMS", "rmq_sys_wheel_timer").sum == 1
    assert counted.minute("BROKER_PUT_NUMS", "C").sum == 1


async def test_pops_and_acknowledgements(counted: Counted) -> None:
    for name in ("BROKER_CK_NUMS", "BROKER_ACK_NUMS"):
        assert counted.stats.figures(name, "C") is None
    counted.traffic.popped("g", "T")
    counted.traffic.popped("h", "T")
    counted.traffic.acknowledged("g", "T", 3)
    await counted.pass_minute_samples(1)
    assert counted.minute("GROUP_CK_NUMS", "T@g").sum == 1
    assert counted.minute("BROKER_CK_NUMS", "C").sum == 2
    assert counted.minute("GROUP_ACK_NUMS", "T@g") == Figure(3, 0.3, 3.0)
    assert counted.minute("BROKER_ACK_NUMS", "C").sum == 3
    at_once(counted.traffic.forget_group("g"))
    assert counted.stats.figures("GROUP_ACK_NUMS", "T@g") is None


async def test_what_was_delivered_from_the_levels(counted: Counted) -> None:
    counted.traffic.scheduled(2)
    counted.traffic.scheduled(1)
    await counted.pass_minute_samples(1)
    key = "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER"
    assert counted.minute("GROUP_GET_NUMS", key) == Figure(3, 0.3, 1.0)
    assert counted.stats.figures("BROKER_GET_NUMS", "C") is None


async def test_without_system_topics(counted: Counted) -> None:
    counted.traffic.stored([record("T"), record("SYS1"), record("SYS1")])
    counted.traffic.handed_out("g", "T", 2, 10)
    counted.traffic.handed_out("g", "SYS1", 1, 10)
    await counted.pass_minute_samples(1)
    assert counted.minute("BROKER_PUT_NUMS", "C").sum == 3
    assert counted.minute("BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "C").sum == 1
    assert counted.minute("BROKER_GET_NUMS", "C").sum == 3
    assert counted.minute("BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC", "C").sum == 2
