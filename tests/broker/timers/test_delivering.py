"""Timer messages from their sends to their copies, on a mock clock over a real store."""

import errno
import json
import logging
import os
from typing import Any

import pytest
import trio

from tests.broker.timers.timing import BEGIN, SECOND, Timing
from tests.interpreted import needs_plain_timers
from trimq.codec.entries.timer import parse_timer_checkpoint
from trimq.codec.names import TIMER_TOPIC
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message


def counts(timing: Timing) -> dict[str, int]:
    table = json.loads(timing.timers.metrics())["timingCount"]
    return {topic: one["count"] for topic, one in table.items()}


async def test_a_message_comes_at_its_second_with_all_it_had(
    autojump_clock: Any, timing: Timing
) -> None:
    timing.send("x", 4.5, KEYS="k")
    await timing.until(4.9)
    assert timing.delivered == []
    assert timing.timers.waiting() == 1
    assert timing.timers.waiting_at(BEGIN + 4000) == 1
    assert counts(timing) == {"T": 1}
    await timing.until(7)
    [copy] = timing.delivered
    assert 5000 <= copy.at < 5100
    assert (copy.topic, copy.queue_id) == ("T", 2)
    assert copy.properties == {
        "UNIQ_KEY": "U1",
        "KEYS": "k",
        "TIMER_DELIVER_MS": str(BEGIN + 4500),
        "TIMER_OUT_MS": str(BEGIN + 4000),
        "REAL_TOPIC": "T",
        "REAL_QID": "2",
        "TIMER_ENQUEUE_MS": str(BEGIN),
        "TIMER_DEQUEUE_MS": str(BEGIN + copy.at),
    }
    assert timing.timers.waiting() == 0
    assert counts(timing) == {"T": 0}


@pytest.mark.parametrize("millis", [1, 999, 1000, 1001, 1500, 3000, 3001])
async def test_never_early_and_at_most_a_second_late(
    autojump_clock: Any, timing: Timing, millis: int
) -> None:
    await timing.until(0.4)
    due = timing.now + millis
    timing.send("x", millis / 1000)
    await timing.until(10)
    assert due <= timing.delivered[0].at <= due + 1100


async def test_messages_of_a_slot_come_in_the_order_of_their_sends(
    autojump_clock: Any, timing: Timing
) -> None:
    sent = [str(number) for number in range(300)]
    for body in sent:
        timing.send(body, 3, topic="T" if int(body) % 2 else "Other")
    await timing.until(5)
    assert timing.bodies == sent
    assert timing.timers.delivered == 300


async def test_what_is_due_when_it_is_read_skips_the_wheel(
    autojump_clock: Any, timing: Timing
) -> None:
    timing.set(timer_stop_enqueue=True)
    timing.send("late", 2)
    timing.recall("U1", 2)
    timing.send("later", 3.5)
    timing.send("still ahead", 60)
    await timing.until(10)
    assert timing.delivered == []
    assert timing.timers.unread() == 4
    timing.set(timer_stop_enqueue=False)
    await timing.until(12)
    assert timing.bodies == ["late", "later"]
    for copy in timing.delivered:
        assert copy.properties["TIMER_ENQUEUE_MS"] == "9223372036854775807"
    # These were never counted.
    assert counts(timing) == {"T": 1}
    assert timing.timers.unread() == 0
    assert timing.timers.waiting() == 1


async def test_a_recall_takes_its_message_and_no_other(autojump_clock: Any, timing: Timing) -> None:
    timing.send("gone", 3)
    timing.send("stays", 3)
    timing.send("other slot", 4)
    timing.recall("U1", 3)
    timing.recall("U3", 3)
    assert timing.timers.waiting() == 1
    assert counts(timing) == {"T": 1}
    await timing.until(6)
    assert timing.bodies == ["stays", "other slot"]
    # The recall that found nothing is taken back, too.
    assert counts(timing) == {"T": 0}


async def test_a_recall_can_name_the_topic_too(
    autojump_clock: Any, tmp_path: Any, nursery: trio.Nursery, no_threads: None
) -> None:
    timing = Timing(tmp_path / "topics", nursery, append_topic_for_timer_delete_key=True)
    await timing.start()
    timing.send("a", 3, topic="A", UNIQ_KEY="same")
    timing.send("b", 3, topic="B", UNIQ_KEY="same")
    timing.send("0", 3, topic="B", UNIQ_KEY="same", TIMER_DEL_UNIQKEY="B+same")
    await timing.until(6)
    assert timing.bodies == ["a"]
    timing.kill()


async def test_messages_far_ahead_roll(
    autojump_clock: Any, tmp_path: Any, nursery: trio.Nursery, no_threads: None
) -> None:
    timing = Timing(tmp_path / "rolls", nursery, timer_roll_window_slot=30)
    await timing.start()
    timing.send("x", 100.5)
    timing.send("gone", 100.5)
    timing.recall("U2", 100.5)
    await timing.until(99)
    assert timing.delivered == []
    assert timing.store.max_offset(TIMER_TOPIC, 0) > 6
    await timing.until(103)
    [copy] = timing.delivered
    assert copy.at >= 100_500
    assert copy.body == "x"
    assert int(copy.properties["TIMER_ROLL_TIMES"]) == 3
    assert counts(timing) == {"T": 0}
    timing.kill()


async def test_a_stop_of_an_hour_is_caught_up_with(autojump_clock: Any, timing: Timing) -> None:
    timing.send("x", 10)
    timing.send("y", 3000)
    timing.stop()
    timing.clock.jumped += 3600 * SECOND
    await timing.start()
    await trio.sleep(0.5)
    assert timing.bodies == ["x", "y"]
    assert timing.timers.seconds_behind() == 0


async def test_a_wall_clock_that_jumps(autojump_clock: Any, timing: Timing) -> None:
    timing.send("x", 500)
    await trio.sleep(1)
    timing.clock.jumped += 600 * SECOND
    await trio.sleep(2)
    assert timing.bodies == ["x"]
    timing.clock.jumped -= 300 * SECOND
    due = timing.now + 5000
    timing.send("y", 5)
    await trio.sleep(4.9)
    assert timing.bodies == ["x"]
    await trio.sleep(2)
    assert timing.bodies == ["x", "y"]
    assert timing.delivered[1].at >= due


async def test_a_full_disk_delays_and_loses_nothing(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        timing.send(str(number), 2)
    await timing.until(1.5)

    def full(fd: int, buffers: Any, position: int) -> int:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "pwritev", full)
    await timing.until(20)
    assert timing.delivered == []
    monkeypatch.undo()
    await timing.until(40)
    assert timing.bodies == ["0", "1", "2", "3", "4"]
    assert timing.timers.waiting() == 0


async def test_one_that_its_queue_refuses_waits_alone(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = timing.puts.stage
    broken = True

    def stage(message: Any, properties: Any) -> str | None:
        if message.topic == "Broken" and broken:
            raise StoreError("its queue is damaged")
        return real(message, properties)

    monkeypatch.setattr(timing.puts, "stage", stage)
    for number in range(100):
        timing.send(str(number), 2, topic="Broken" if number == 50 else "T")
    timing.send("later", 5)
    await timing.until(30)
    assert timing.bodies == [str(number) for number in range(100) if number != 50] + ["later"]
    assert timing.timers.waiting() == 1
    broken = False
    await timing.until(40)
    assert timing.bodies[-1] == "50"
    assert timing.timers.waiting() == 0
    assert counts(timing) == {"T": 0, "Broken": 0}


async def test_one_that_may_never_be_stored_is_given_up(
    autojump_clock: Any, timing: Timing, caplog: pytest.LogCaptureFixture
) -> None:
    timing.send("x", 2, topic="T" * 120)
    # maxMessageSize may have been lowered since it was sent.
    timing.send("too large now", 2)
    timing.store._appender.limit_bodies(5)
    with caplog.at_level(logging.ERROR):
        await timing.until(5)
    assert timing.bodies == ["x"]
    assert "timer message given up" in caplog.text
    assert "key=U2" in caplog.text


async def test_dequeuing_can_be_stopped(autojump_clock: Any, timing: Timing) -> None:
    timing.send("x", 2)
    timing.set(timer_stop_dequeue=True)
    await trio.sleep(10)
    assert timing.delivered == []
    assert timing.timers.seconds_behind() >= 6
    timing.set(timer_stop_dequeue=False)
    await trio.sleep(3)
    assert timing.bodies == ["x"]


async def test_what_waits_is_delivered_though_no_more_is_accepted(
    autojump_clock: Any, timing: Timing
) -> None:
    timing.send("x", 2)
    timing.set(timer_wheel_enable=False)
    await trio.sleep(4)
    assert timing.bodies == ["x"]


async def test_a_message_without_a_time_stops_nobody(
    autojump_clock: Any, timing: Timing, caplog: pytest.LogCaptureFixture
) -> None:
    """In RocketMQ 5.5.0 such a one, sent by a raw client, ends all timers."""
    for properties in (b"", b"TIMER_OUT_MS\x01soon\x02"):
        timing.store.put(Message(TIMER_TOPIC, 0, b"bad", properties))
    timing.send("good", 1)
    await timing.until(3)
    assert timing.bodies == ["good"]
    assert caplog.text.count("timer message without a time") == 2


async def test_a_broker_without_timers_makes_no_files(autojump_clock: Any, timing: Timing) -> None:
    await timing.until(100)
    assert not (timing.root / "timerwheel").exists()
    timing.stop()
    names = {path.name for path in timing.root.rglob("*")}
    assert not names & {"timerwheel", "timerlog", "timercheck", "timermetrics"}
    await timing.start()


@needs_plain_timers
async def test_an_idle_wheel_is_looked_at_once_a_second(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing.send("x", 1)
    await timing.until(10.5)
    looks = []
    wheel = timing.timers._files.wheel
    real = wheel.pass_empty

    def look(begin: int, end: int) -> tuple[int, bool]:
        looks.append((begin, end))
        return real(begin, end)

    monkeypatch.setattr(wheel, "pass_empty", look)
    written = timing.timers._files._flushed
    await timing.until(50.5)
    assert len(looks) == 40
    assert all(end - begin == SECOND for begin, end in looks)
    # And nothing is written for that.
    assert timing.timers._files._flushed == written
    await timing.until(100)
    assert timing.timers._files._flushed != written


async def test_the_files_follow_each_second(autojump_clock: Any, timing: Timing) -> None:
    timing.send("x", 60)
    await timing.until(3)
    check = timing.root / "config" / "timercheck"
    assert parse_timer_checkpoint(check.read_bytes()).queue_offset == 1
    metrics = json.loads((timing.root / "config" / "timermetrics").read_bytes())
    assert metrics["timingCount"]["T"]["count"] == 1
    assert metrics["dataVersion"]["counter"] == 1
    assert timing.timers.checkpoint()[16:24] == check.read_bytes()[16:24]
    timing.timers.forget_topic("T")
    assert counts(timing) == {}


async def test_rates(autojump_clock: Any, timing: Timing) -> None:
    await timing.until(1.5)
    for number in range(10):
        timing.send(str(number), 1)
    await timing.until(2.5)
    assert timing.timers.enqueued_per_second() == pytest.approx(10)
    assert timing.timers.dequeued_per_second() == 0
    await timing.until(4.5)
    assert timing.timers.dequeued_per_second() == pytest.approx(10)


@needs_plain_timers
async def test_a_timer_log_that_cannot_be_written_doubles_nothing(
    autojump_clock: Any, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StoreError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(timing.timers._files, "write_if_much", fail)
        timing.send("x", 5)
        await timing.until(2)
    await timing.until(10)
    assert timing.bodies == ["x"]
