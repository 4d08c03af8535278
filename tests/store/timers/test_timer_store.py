"""The wheel, its log and its checkpoint as one: entering, taking out, rolling, and what is on the disk when."""

import gc

import pytest

from tests.interpreted import needs_plain_timers
from tests.store.timers.conftest import BEGIN, LOG_FILE, SECOND, SIZE, SLOTS, WINDOW, Timers
from trimq.codec.entries.timer import (
    MAGIC_DEFAULT,
    MAGIC_DELETE,
    MAGIC_ROLL,
    parse_delivered_from,
    parse_timer_checkpoint,
)
from trimq.store.errors import StoreDamaged
from trimq.store.timers.rolling import longest_window, next_stop
from trimq.store.timers.wheel import SLOTS_PER_STEP, TimerWheel

HOUR = 3600


def test_without_a_message_there_are_no_files(timers: Timers) -> None:
    timers.now += 10 * SECOND
    assert timers.take() == []
    assert not timers.flush()
    assert list(timers.root.iterdir()) == []
    assert timers.store.count_at(BEGIN) == 0


def test_a_slot_is_due_when_the_next_one_has_begun(timers: Timers) -> None:
    number = timers.enter(5)
    timers.now = BEGIN + 5999
    assert timers.take() == []
    timers.now = BEGIN + 6000
    assert timers.numbers() == [number]
    assert timers.store.wheel.waiting == 0
    assert timers.take() == []


def test_a_slot_gives_its_messages_in_the_order_they_came(timers: Timers) -> None:
    sent = [timers.enter(3 + number % 2) for number in range(40)]
    assert timers.store.count_at(BEGIN + 3000) == 20
    timers.now += 10 * SECOND
    (first, _, early), (second, _, late) = timers.take()
    assert (first, second) == (BEGIN + 3000, BEGIN + 4000)
    assert [due.physical_offset // SIZE for due in early] == sent[::2]
    assert [due.physical_offset // SIZE for due in late] == sent[1::2]
    assert {due.write_time for due in early} == {BEGIN}


def test_what_is_due_already_does_not_go_on_the_wheel(timers: Timers) -> None:
    number = timers.send(-1)
    assert timers.feed() == [number]
    assert not timers.store.is_used
    # The slot of this very second is still ahead.
    assert timers.enter(0) == number + 1
    assert timers.store.wheel.waiting == 1


def test_recalls_are_apart_and_are_not_counted(timers: Timers) -> None:
    target = timers.enter(5)
    recall = timers.enter(5, is_delete=True)
    assert timers.store.wheel.waiting == 0
    timers.now += 6 * SECOND
    [(_, deletes, others)] = timers.take()
    assert [due.physical_offset // SIZE for due in deletes] == [recall]
    assert [due.physical_offset // SIZE for due in others] == [target]
    assert deletes[0].is_delete
    assert not others[0].is_delete


def test_stops_on_the_way() -> None:
    """TimerMessageStore.doEnqueue."""
    for seconds, stop in (
        (WINDOW - 1, WINDOW - 1),
        (WINDOW, WINDOW // 2),
        (WINDOW + WINDOW // 3 - 1, WINDOW // 2),
        (WINDOW + WINDOW // 3, WINDOW),
        (3 * WINDOW, WINDOW),
    ):
        out = BEGIN + seconds * SECOND
        assert next_stop(out, BEGIN, WINDOW, SECOND) == BEGIN + stop * SECOND


def test_what_is_far_ahead_rolls(timers: Timers) -> None:
    timers.enter(WINDOW)
    timers.enter(3 * WINDOW, is_delete=True)
    timers.now += (WINDOW // 2 + 1) * SECOND
    [(time, _, [due])] = timers.take()
    assert time == BEGIN + WINDOW // 2 * SECOND
    assert due.magic == MAGIC_DEFAULT | MAGIC_ROLL
    assert due.rolls
    timers.now = BEGIN + (WINDOW + 1) * SECOND
    # A recall goes around with what it recalls: it is no recall of this slot.
    [(_, [], [due])] = timers.take()
    assert due.magic == MAGIC_DEFAULT | MAGIC_ROLL | MAGIC_DELETE
    assert not due.is_delete


def test_the_window_is_half_of_what_files_are_kept() -> None:
    assert longest_window(172_800, 72, 1000) == 36 * HOUR
    assert longest_window(172_800, 200, 1000) == 172_800
    assert longest_window(60_000, 72, 1000) == 60_000
    assert longest_window(172_800, 72, 100) == 172_800
    # Out of bounds: what the wheel has room for (TimerMessageStore), and then the half again.
    assert longest_window(1, 10_000, 1000) == 7 * 24 * HOUR - 60
    assert longest_window(604_800, 10_000, 1000) == 7 * 24 * HOUR - 60
    assert longest_window(172_800, 0, 1000) == 60


def test_nothing_enters_a_slot_that_is_being_taken_out(timers: Timers) -> None:
    timers.enter(1)
    timers.now += 2 * SECOND
    time = timers.store.find_due(timers.now)
    assert time == BEGIN + 1000
    timers.read(time)
    # Somebody sets the clock back.
    timers.now = BEGIN
    timers.send(1)
    timers.feed()
    assert timers.store.queue_offset == 1
    timers.store.finish(time)
    timers.feed()
    timers.now += 2 * SECOND
    assert timers.numbers() == [1]


def test_a_clock_that_is_set_back_makes_nothing_early_or_late(timers: Timers) -> None:
    timers.enter(5)
    timers.now += 100 * SECOND
    assert timers.numbers() == [0]
    timers.now = BEGIN + 2 * SECOND
    late = timers.enter(50)
    soon = timers.enter(3)
    timers.now += 3 * SECOND
    assert timers.numbers() == []
    timers.now += SECOND
    assert timers.numbers() == [soon]
    timers.now += 50 * SECOND
    assert timers.numbers() == [late]


def test_slots_of_two_weeks_ago_are_not_written_over(timers: Timers) -> None:
    old = timers.enter(5)
    timers.now += SLOTS * SECOND
    timers.send(5)
    timers.feed()
    assert timers.store.queue_offset == 1
    assert timers.numbers() == [old]
    assert timers.feed() == []
    assert timers.store.queue_offset == 2


def test_empty_slots_are_passed_many_at_a_time(tmp_path) -> None:
    wheel = TimerWheel(tmp_path / "timerwheel", SECOND, 10 * SLOTS_PER_STEP)
    wheel.open()
    begin = BEGIN - BEGIN % (10 * SLOTS_PER_STEP * SECOND)
    far = begin + 3 * SLOTS_PER_STEP * SECOND + 7 * SECOND
    wheel.put(far, 0, 0, 1)
    looks = 0
    time, found = begin, False
    while not found:
        time, found = wheel.pass_empty(time, begin + 9 * SLOTS_PER_STEP * SECOND)
        looks += 1
    assert (time, looks) == (far, 4)
    # Where the changes are written, and where many slots have changed, it is the same.
    wheel.write(wheel.take_changes())
    assert wheel.pass_empty(far - 5 * SECOND, far + SECOND) == (far, True)
    wheel.written()
    assert wheel.pass_empty(far - 5 * SECOND, far + SECOND) == (far, True)
    for second in range(100):
        wheel.put(far + second * SECOND, 0, 0, 1)
    for second in range(99):
        wheel.clear(far + second * SECOND)
    assert wheel.pass_empty(far, far + 99 * SECOND) == (far + 99 * SECOND, False)
    assert wheel.pass_empty(far, far + 100 * SECOND) == (far + 99 * SECOND, True)
    assert wheel.waiting == 1
    wheel.close()


def test_a_day_of_changes_is_a_few_hundred_objects(tmp_path) -> None:
    """Objects by the slot held up the loop: the collector looks at each, and somebody has to write and free them."""
    wheel = TimerWheel(tmp_path / "timerwheel", SECOND)
    wheel.open()
    for second in range(24 * HOUR):
        wheel.put(BEGIN + second * SECOND, second, second, 1)
    assert not gc.is_tracked(wheel._changed)
    changes = wheel.take_changes()
    assert 675 <= len(changes) <= 676
    assert sum(map(len, changes.values())) == len(changes) * 4096
    wheel.write(changes)
    wheel.written()
    assert not wheel.has_changes
    assert wheel.slot(BEGIN + 12 * HOUR * SECOND).first == 12 * HOUR
    assert wheel.waiting == 24 * HOUR
    wheel.close()


def test_what_changes_while_a_thread_writes_is_written_next(tmp_path) -> None:
    """The thread's pages stay as they are; whether it succeeds or not, nothing is lost."""
    for succeeds in (True, False):
        path = tmp_path / f"timerwheel{succeeds}"
        wheel = TimerWheel(path, SECOND)
        wheel.open()
        for second in (0, 1, 300):
            wheel.put(BEGIN + second * SECOND, second, second, 1)
        leaving = wheel.take_changes()
        before = {number: bytes(page) for number, page in leaving.items()}
        wheel.put(BEGIN + SECOND, 7, 8, 2)
        wheel.clear(BEGIN)
        assert leaving == before
        if succeeds:
            wheel.write(leaving)
            wheel.written()
        else:
            wheel.not_written()
        for _ in range(2):
            assert wheel.slot(BEGIN) is None
            assert wheel.slot(BEGIN + SECOND).last == 8
            assert wheel.slot(BEGIN + 300 * SECOND).last == 300
            assert wheel.waiting == 3
            wheel.write(wheel.take_changes())
            wheel.written()
        wheel.close()


def test_a_wheel_of_another_length_is_refused(tmp_path) -> None:
    (tmp_path / "timerwheel").write_bytes(bytes(32))
    with pytest.raises(StoreDamaged, match="a timer wheel has 12800 bytes"):
        TimerWheel(tmp_path / "timerwheel", SECOND, SLOTS).open()


@needs_plain_timers
def test_the_log_comes_first_then_the_wheel_then_the_checkpoint(
    timers: Timers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off after each of them, what is on the disk speaks of nothing that is not there."""
    timers.enter(5)
    store = timers.store
    order = []
    for owner, name in ((store.log, "sync_files"), (store.wheel, "write"), (store.file, "save")):
        real = getattr(owner, name)

        def act(*arguments, real=real, name=name):
            order.append(name)
            real(*arguments)

        monkeypatch.setattr(owner, name, act)
    assert timers.flush()
    assert order == ["sync_files", "write", "save"]
    # Nothing has changed.
    assert not timers.flush()


def test_slots_are_in_the_file_only_after_a_flush(timers: Timers) -> None:
    timers.enter(5)
    timers.store.log.write()
    wheel = timers.root / "timerwheel"
    assert not wheel.read_bytes().strip(b"\0")
    assert timers.store.wheel.slot(BEGIN + 5000) is not None
    plan = timers.store.plan_flush(timers.log_end, timers.now)
    assert plan is not None
    # While a thread writes them they are still seen, and can change.
    timers.enter(5)
    assert timers.store.count_at(BEGIN + 5000) == 2
    timers.store.not_flushed(plan)
    assert timers.store.count_at(BEGIN + 5000) == 2
    assert timers.flush()
    assert wheel.read_bytes().strip(b"\0")


def test_the_checkpoint_says_how_far_it_has_got(timers: Timers) -> None:
    timers.enter(5)
    timers.flush()
    data = (timers.root / "config" / "timercheck").read_bytes()
    assert len(data) == 4096
    state = parse_timer_checkpoint(data)
    assert state == (BEGIN, 52, 1, 1, 0, BEGIN, 1)
    assert parse_delivered_from(data) == SIZE
    timers.now += 6 * SECOND
    assert timers.store.checkpoint_body(timers.now) == data[:56]
    timers.take()
    timers.send(0)
    timers.flush()
    state = parse_timer_checkpoint((timers.root / "config" / "timercheck").read_bytes())
    assert state == (BEGIN + 6000, 52, 1, 1, 0, timers.now, 2)
    # A real broker changes its fields, and leaves the others as they are.
    assert parse_delivered_from(data[:7] + b"x" + data[8:]) is None


def test_what_is_delivered_lies_behind_where_its_slot_was_begun(timers: Timers) -> None:
    timers.enter(1)
    timers.now += 2 * SECOND
    time = timers.store.find_due(timers.now)
    assert time is not None
    timers.store.begin(time, timers.log_end)
    # Half of it is delivered.
    before, timers.log_end = timers.log_end, timers.log_end + 1000
    timers.store.begin(time, timers.log_end)
    assert timers.flush()
    assert parse_delivered_from((timers.root / "config" / "timercheck").read_bytes()) == before
    timers.store.finish(time)
    assert timers.flush()
    data = (timers.root / "config" / "timercheck").read_bytes()
    assert parse_delivered_from(data) == timers.log_end


def test_a_message_is_put_off(timers: Timers) -> None:
    timers.enter(1)
    timers.now += 2 * SECOND
    [(_, _, [due])] = timers.take()
    assert timers.store.put_off(due, 7, timers.now + 3 * SECOND)
    timers.now += 3 * SECOND
    assert timers.take() == []
    timers.now += SECOND
    [(_, _, [again])] = timers.take()
    assert again.physical_offset == due.physical_offset


def test_files_of_the_log_are_full_and_end_with_a_blank(timers: Timers) -> None:
    sent = [timers.enter(5) for _ in range(25)]
    timers.flush()
    files = sorted((timers.root / "timerlog").iterdir())
    assert [int(path.name) for path in files] == [0, LOG_FILE, 2 * LOG_FILE]
    assert {path.stat().st_size for path in files} == {LOG_FILE}
    blank = files[0].read_bytes()[520:]
    assert blank[:16].hex() == "0000001e" + "0" * 16 + "cbd43194"
    timers.now += 6 * SECOND
    assert timers.numbers() == sent


def test_files_of_the_log_go_with_the_messages(timers: Timers) -> None:
    for _ in range(25):
        timers.enter(5)
    store = timers.store
    store.log.write()
    store.delete_before(9 * SIZE)
    assert len(list((timers.root / "timerlog").iterdir())) == 3
    store.delete_before(10 * SIZE)
    assert len(list((timers.root / "timerlog").iterdir())) == 2
    store.delete_before(10_000 * SIZE)
    assert [int(path.name) for path in (timers.root / "timerlog").iterdir()] == [2 * LOG_FILE]
    assert store.log.deleted_files == 2
    # What is still there is delivered.
    timers.now += 6 * SECOND
    assert timers.numbers() == [20, 21, 22, 23, 24]
    timers.flush()
    timers.kill()
    assert timers.recovered is not None
    assert timers.recovered.queue_offset == 25


@needs_plain_timers
def test_nothing_is_entered_while_the_log_cannot_be_written(
    timers: Timers, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers.enter(5)
    monkeypatch.setattr("trimq.store.timers.timer_store.MOST_UNWRITTEN", 51)
    timers.send(5)
    timers.feed()
    assert timers.store.queue_offset == 1
    timers.store.log.write()
    timers.feed()
    assert timers.store.queue_offset == 2
