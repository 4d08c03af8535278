"""Opening the timer's files: after kills, power losses and damage, and as a real broker left them."""

from __future__ import annotations

import os

import pytest

from tests.store.timers.conftest import BEGIN, LOG_FILE, SECOND, SIZE, Timers
from trimq.codec.entries.timer import (
    RECORD_SIZE,
    SLOT_SIZE,
    TimerSlot,
    TimerState,
    pack_slot,
    pack_timer_checkpoint,
    parse_slots,
)

LATER = 40 * SECOND


def test_a_kill_takes_what_was_in_memory_only(timers: Timers) -> None:
    timers.enter(5)
    timers.flush()
    timers.enter(6)
    timers.kill()
    assert timers.store.queue_offset == 1
    assert timers.store.wheel.waiting == 1
    timers.feed()
    timers.now += 10 * SECOND
    assert timers.numbers() == [0, 1]


def test_records_behind_the_checkpoint_come_into_their_slots(timers: Timers) -> None:
    for _ in range(5):
        timers.enter(5)
    timers.flush()
    timers.enter(5)
    timers.enter(7)
    timers.enter(5, is_delete=True)
    timers.store.log.write()
    timers.kill()
    assert timers.recovered is not None
    assert timers.store.queue_offset == 8
    assert timers.recovered.tail == [(5 * SIZE, SIZE, 1), (6 * SIZE, SIZE, 1), (7 * SIZE, SIZE, 5)]
    assert timers.store.count_at(BEGIN + 5000) == 5
    assert timers.store.wheel.waiting == 6
    timers.now += 10 * SECOND
    (_, deletes, others), (_, _, [late]) = timers.take()
    assert [len(deletes), len(others)] == [1, 6]
    assert late.physical_offset == 6 * SIZE


def test_a_recall_whose_message_is_lost_leaves_no_count(timers: Timers) -> None:
    """It counts downwards until its slot is taken, in a broker that was started anew too."""
    timers.enter(5, is_delete=True)
    timers.enter(7)
    timers.flush()
    timers.kill()
    assert timers.store.wheel.waiting == 0
    timers.now += 6 * SECOND
    timers.take()
    assert timers.store.wheel.waiting == 1
    timers.now += 10 * SECOND
    assert timers.numbers() == [1]
    assert timers.store.wheel.waiting == 0


def test_a_recall_alone_leaves_no_count(timers: Timers) -> None:
    timers.enter(5, is_delete=True)
    timers.flush()
    timers.kill()
    assert timers.store.wheel.waiting == -1
    timers.now += 6 * SECOND
    timers.take()
    assert timers.store.wheel.waiting == 0


def test_a_wheel_newer_than_its_checkpoint_counts_nothing_twice(timers: Timers) -> None:
    timers.enter(5)
    timers.flush()
    timers.enter(5)
    plan = timers.store.plan_flush(timers.log_end, timers.now)
    assert plan is not None
    plan._log.sync_files(plan.synced)
    plan._wheel.write(plan._pages)
    timers.kill()
    assert timers.store.count_at(BEGIN + 5000) == 2
    timers.now += 10 * SECOND
    assert timers.numbers() == [0, 1]


@pytest.mark.parametrize("left", range(RECORD_SIZE))
def test_a_torn_record_ends_the_log(timers: Timers, left: int) -> None:
    timers.enter(5)
    timers.flush()
    timers.enter(5)
    timers.store.log.write()
    timers.store.close()
    path = timers.root / "timerlog" / f"{0:020d}"
    data = path.read_bytes()
    # What a power loss leaves of its last 52 bytes.
    path.write_bytes(data[: RECORD_SIZE + left] + bytes(len(data) - RECORD_SIZE - left))
    timers.open()
    # The rest of a record that looks whole is zeros, as its hash and its reserved field may be.
    assert timers.store.queue_offset == (2 if left > 39 else 1)
    timers.feed()
    timers.now += 10 * SECOND
    assert timers.numbers() == [0, 1]


def test_messages_behind_the_end_of_the_commit_log_are_cut_off(timers: Timers) -> None:
    """10668: a power loss took the log's end; the timer's files were synced before."""
    for number in range(15):
        timers.enter(5 + number % 2)
    timers.enter(30)
    timers.flush()
    timers.store.close()
    del timers.queue[4:]
    timers.log_end = 4 * SIZE
    timers.open()
    assert timers.recovered is not None
    assert timers.recovered.cut > 0
    assert timers.recovered.rebuilt == 3
    assert timers.store.wheel.waiting == 4
    assert timers.store.queue_offset == 4
    assert timers.store.wheel.slot(BEGIN + 30_000) is None
    # What is stored there now is something else.
    timers.enter(8)
    timers.now += 10 * SECOND
    assert timers.numbers() == [0, 2, 1, 3, 4]


def test_a_slot_that_points_behind_the_log_is_put_together_again(timers: Timers) -> None:
    """The log lost its end: what is left of its slots is found, and the rest is read once more."""
    for number in range(14):
        timers.enter(5 + number % 3)
    timers.flush()
    timers.store.close()
    path = timers.root / "timerlog" / f"{LOG_FILE:020d}"
    path.unlink()
    timers.open()
    assert timers.recovered is not None
    assert timers.recovered.rebuilt == 3
    assert timers.store.queue_offset == 10
    assert timers.recovered.done_before == 14
    timers.feed()
    timers.now += 10 * SECOND
    assert sorted(timers.numbers()) == list(range(14))


def test_a_missing_file_in_between_makes_all_of_it_anew(timers: Timers) -> None:
    for _ in range(25):
        timers.enter(5)
    timers.flush()
    timers.store.close()
    (timers.root / "timerlog" / f"{LOG_FILE:020d}").unlink()
    timers.open()
    # From the messages themselves, which are in the log of all messages.
    assert timers.feed() == []
    assert sorted(path.name for path in (timers.root / "damaged").iterdir()) == [
        "timerlog",
        "timerwheel",
    ]
    timers.now += 10 * SECOND
    assert sorted(timers.numbers()) == list(range(25))


def test_slots_that_are_done_are_emptied(timers: Timers) -> None:
    """RocketMQ leaves a slot as it is when all of it was delivered."""
    timers.enter(5)
    timers.enter(20)
    timers.flush()
    timers.store.close()
    wheel = timers.root / "timerwheel"
    data = bytearray(wheel.read_bytes())
    for seconds in (-30, 2):
        unit = BEGIN // SECOND + seconds
        at = unit % timers.store.wheel.slots * SLOT_SIZE
        data[at : at + SLOT_SIZE] = pack_slot(TimerSlot(unit, 0, 0, 7, 0))
    wheel.write_bytes(bytes(data))
    state = TimerState(BEGIN + 3000, 104, 2, 2, 0, 1, 1)
    check = timers.root / "config" / "timercheck"
    check.write_bytes(pack_timer_checkpoint(state).ljust(4096, b"\0"))
    timers.open()
    assert timers.store.wheel.waiting == 2
    assert timers.store.read_time == BEGIN + 3000
    times = sorted(slot[0] for slot in parse_slots(wheel.read_bytes()) if slot[0])
    assert times == [BEGIN // SECOND + 5, BEGIN // SECOND + 20]
    # It is a real broker's: where its deliveries lie is not known.
    assert timers.store.file.delivered_from is None


@pytest.mark.parametrize("flushed", [False, True])
def test_a_broker_that_was_away_for_long_delivers_what_was_due(
    timers: Timers, flushed: bool
) -> None:
    """Or one whose clock is far ahead when it starts. The wheel has 400 slots."""
    timers.enter(1)
    timers.flush()
    first, second = timers.enter(5), timers.enter(90)
    if flushed:
        timers.flush()
    timers.now += 10_000 * SECOND
    timers.kill()
    assert [*timers.feed(), *timers.numbers()] == [0, first, second]


def test_without_a_checkpoint_a_wheel_starts_with_what_fits(timers: Timers) -> None:
    timers.enter(5)
    (timers.root / "config" / "timercheck").unlink(missing_ok=True)
    timers.now += 10_000 * SECOND
    timers.kill()
    # 400 slots, of which the window and 60 more stay free.
    assert timers.store.read_time == timers.now - (400 - 100 - 60) * SECOND


def test_without_any_of_its_files_nothing_was_on_the_wheel(timers: Timers) -> None:
    timers.kill()
    assert timers.recovered is None
    assert timers.store.queue_offset == 0
    assert timers.store.read_time == BEGIN
    # With messages that wait for it, it is made.
    target = timers.send(5)
    recall = timers.send(5, is_delete=True)
    timers.now += LATER
    timers.kill()
    assert timers.recovered is not None
    assert timers.feed() == []
    [(_, [delete], [due])] = timers.take()
    assert delete.physical_offset == recall * SIZE
    assert due.physical_offset == target * SIZE


def test_files_of_another_size_keep_it(timers: Timers, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [timers.enter(5) for _ in range(12)]
    timers.flush()
    timers.store.close()
    monkeypatch.setattr("tests.store.timers.conftest.LOG_FILE", 2 * LOG_FILE)
    timers.open()
    assert timers.store.log.file_size == LOG_FILE
    timers.now += LATER
    assert timers.numbers() == sent


def test_a_file_that_was_about_to_be_made(timers: Timers) -> None:
    timers.enter(5)
    timers.flush()
    timers.store.close()
    (timers.root / "timerlog" / f"{LOG_FILE:020d}").write_bytes(b"")
    timers.open()
    assert timers.store.log.end == RECORD_SIZE
    sent = [timers.enter(5) for _ in range(12)]
    timers.now += LATER
    assert timers.numbers() == [0, *sent]


@pytest.mark.parametrize("position", [1, 53, LOG_FILE - 1, LOG_FILE, 10 * LOG_FILE])
def test_a_checkpoint_that_points_elsewhere_is_not_followed(timers: Timers, position: int) -> None:
    for _ in range(12):
        timers.enter(5)
    timers.flush()
    timers.store.close()
    state = TimerState(BEGIN, position, 12, 12, 0, 1, 1)
    check = timers.root / "config" / "timercheck"
    check.write_bytes(pack_timer_checkpoint(state).ljust(4096, b"\0"))
    timers.open()
    assert timers.store.log.end == LOG_FILE + 2 * RECORD_SIZE
    assert timers.store.count_at(BEGIN + 5000) == 12
    timers.now += LATER
    assert timers.numbers() == list(range(12))


def test_a_wheel_in_a_snapshot_is_put_together_from_the_log(timers: Timers) -> None:
    """With timerWheelSnapshotFlush RocketMQ writes `timerwheel` once, all zeros, and then its snapshots."""
    sent = [timers.enter(5 + number % 3) for number in range(15)]
    timers.flush()
    timers.store.close()
    wheel = timers.root / "timerwheel"
    data = wheel.read_bytes()
    wheel.write_bytes(bytes(len(data)))
    os.utime(wheel, (1, 1))
    (timers.root / "timerwheel.780").write_bytes(data)
    timers.open()
    assert timers.store.wheel.waiting == 15
    timers.flush()
    timers.kill()
    assert timers.store.wheel.waiting == 15
    timers.now += LATER
    assert sorted(timers.numbers()) == sent
