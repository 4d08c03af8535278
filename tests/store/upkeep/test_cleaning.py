"""Which commit-log files are deleted when, and when the disk is too full for messages."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time

import pytest

from tests.store.cleaning import HOUR, age, clean, fill, names, write_all
from trimq.store.config import parse_hours
from trimq.store.disk.usage import used_share
from trimq.store.errors import MessagesGone, StoreError, StoreNotWritable
from trimq.store.reading.pulls import ReadStatus

FILE = 1024


@pytest.fixture
def old(bench):
    """Five files of 80 hours, the last one still being written; it is not an hour of deleteWhen."""
    bench.small |= {"delete_when": ()}

    def make(**settings):
        store = bench.open(**settings)
        fill(bench, store, 32)
        age(bench, 80)
        assert names(bench.commit_log_files()) == [0, FILE, 2 * FILE, 3 * FILE, 4 * FILE]
        return store

    return make


def hour_of(millis):
    return time.localtime(millis / 1000).tm_hour


def test_nothing_goes_without_a_reason(bench, old):
    store = old()
    assert clean(store) == 0
    assert store.min_physical_offset == 0


def test_at_its_hour_old_files_go_but_never_the_last(bench, old):
    store = old(delete_when=(hour_of(bench.clock.millis),))
    assert clean(store) == 4
    assert names(bench.commit_log_files()) == [4 * FILE]
    assert store.min_physical_offset == 4 * FILE
    assert clean(store) == 0


def test_another_hour_deletes_nothing(bench, old):
    store = old(delete_when=((hour_of(bench.clock.millis) + 5) % 24,))
    assert clean(store) == 0
    bench.clock.millis += 5 * HOUR
    assert clean(store) == 4


def test_a_young_file_keeps_those_behind_it(bench, old):
    store = old()
    store.cleaning.order()
    age(bench, 71.9, bench.commit_log_files()[2:3])
    assert clean(store) == 2
    age(bench, 72.1, bench.commit_log_files()[:1])
    assert clean(store) == 2


def test_fileReservedTime_counts_from_the_last_change(bench, old):
    store = old(file_reserved_time=100)
    store.cleaning.order()
    assert clean(store) == 0
    bench.clock.millis += 20 * HOUR
    assert clean(store) == 4


def test_an_order_is_good_for_20_rounds(bench, old):
    store = old(file_reserved_time=100)
    store.cleaning.order()
    for _ in range(20):
        assert store.cleaning.begin_round(store.cleaning.measure()) is not None
    assert store.cleaning.begin_round(store.cleaning.measure()) is None
    bench.clock.millis += 20 * HOUR
    assert clean(store) == 0


def test_a_round_deletes_a_batch_at_most(bench, old):
    store = old(delete_file_batch_max=3)
    store.cleaning.order()
    assert clean(store) == 3
    assert clean(store) == 1


@pytest.mark.parametrize(
    ("use", "hours", "deleted", "writable"),
    [
        (0.75, 80, 0, True),
        (0.76, 80, 4, True),
        (0.76, 71, 0, True),
        (0.85, 71, 0, True),
        (0.86, 1, 4, True),
        (0.90, 1, 4, True),
        (0.91, 1, 4, False),
        # Nothing is known of the disk: old files go.
        (-1.0, 80, 4, True),
        (-1.0, 71, 0, True),
    ],
)
def test_what_a_full_disk_does(bench, old, use, hours, deleted, writable):
    store = old()
    age(bench, hours)
    bench.disk_use = use
    assert clean(store) == deleted
    assert store.writable == writable


@pytest.mark.parametrize(
    ("setting", "use"),
    [
        ({"disk_max_used_space_ratio": 5}, 0.11),
        ({"disk_max_used_space_ratio": 20}, 0.21),
        ({"disk_space_clean_forcibly_ratio": 20, "disk_max_used_space_ratio": 90}, 0.31),
    ],
)
def test_ratios_are_settings_within_limits(bench, old, setting, use):
    store = old(**setting)
    bench.disk_use = use - 0.01
    assert clean(store) == 0
    bench.disk_use = use
    assert clean(store) == 4


def test_force_can_be_forbidden(bench, old):
    store = old(clean_file_forcibly_enable=False)
    age(bench, 1)
    bench.disk_use = 0.95
    assert clean(store) == 0
    assert not store.writable
    age(bench, 80)
    assert clean(store) == 4


def test_a_full_disk_refuses_messages_and_still_answers_reads(bench, old, caplog):
    store = old()
    bench.disk_use = 0.91
    store.cleaning.begin_round(store.cleaning.measure())
    with pytest.raises(StoreNotWritable, match=r"0\.91"):
        store.stage(bench.message(b"more"))
    with pytest.raises(StoreNotWritable):
        store.stage_batch(bench.message(b""))
    assert store.read("T", 0, 0, 8, 1 << 20, None).status == ReadStatus.FOUND
    assert len(bench.bodies(store)) == 16
    # Between the two marks nothing changes, in either direction.
    bench.disk_use = 0.86
    store.cleaning.begin_round(store.cleaning.measure())
    assert not store.writable
    bench.disk_use = 0.85
    store.cleaning.begin_round(store.cleaning.measure())
    assert store.put(bench.message(b"more")).queue_offset == 16
    bench.disk_use = 0.90
    store.cleaning.begin_round(store.cleaning.measure())
    assert store.writable
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 2
    assert "91 % full" in said[0]
    assert "make room on the disk" in said[0]
    assert "85 % full: messages are accepted again" in said[1]


def test_the_consume_queues_may_have_a_disk_of_their_own(bench, old):
    store = old()
    bench.disk_uses["consumequeue"] = 0.91
    assert clean(store) == 4
    assert not store.writable
    # Their disk only has to be below the upper mark again.
    bench.disk_uses["consumequeue"] = 0.88
    clean(store)
    assert store.writable


def test_the_queues_disk_counts_only_while_the_logs_is_not_too_full(bench, old):
    store = old()
    bench.disk_uses |= {"commitlog": 0.86, "consumequeue": 0.95}
    assert clean(store) == 4
    assert store.writable


def test_deleted_files_are_not_kept_open(bench, old):
    store = old(open_files=100)
    # Rolling to a new file closes the others; reading opens them again.
    fill(bench, store, 8)
    assert len(bench.bodies(store)) == 20
    bench.disk_use = 0.88
    assert clean(store) == 5
    kept = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if is_open(fd)]
    assert not [path for path in kept if str(bench.root) in path and "(deleted)" in path]


def is_open(fd):
    return os.path.islink(f"/proc/self/fd/{fd}")


def test_a_disk_that_fills_without_old_files_is_reported_once(bench, old, caplog):
    store = old()
    age(bench, 1)
    bench.disk_use = 0.8
    for _ in range(3):
        clean(store)
    assert caplog.text.count("the disk will be full soon") == 1


def test_every_deleted_file_is_reported_with_its_reason(bench, old, caplog):
    caplog.set_level(logging.INFO)
    store = old()
    store.cleaning.order()
    clean(store)
    lines = [line for line in caplog.messages if line.startswith("commit-log file deleted")]
    assert len(lines) == 4
    assert "log_begins_at=1024 reason=an operator asked" in lines[0]


def test_what_is_not_flushed_stays(bench):
    store = bench.open(delete_when=())
    for number in range(32):
        store.put(bench.message(b"%d" % number + bytes(40)))
    bench.disk_use = 0.95
    assert clean(store) == 0
    store.flush()
    assert clean(store) == 4


def test_deleting_does_not_disturb_appends_and_flushes(bench, old):
    store = old()
    bench.disk_use = 0.88
    for _ in range(5):
        fill(bench, store, 20)
        clean(store)
        assert store.flush() == store.max_physical_offset
    assert len(bench.commit_log_files()) == 1


# --- readers


def test_a_file_that_is_read_stays_until_it_is_released(bench, old):
    store = old()
    store.cleaning.order()
    first = store.read("T", 0, 0, 1, 1 << 20, None)
    held = store.hold(first.extents)
    assert clean(store) == 0
    # It is out of the log at once, as the real broker's: nobody else begins to read it.
    assert store.min_physical_offset == FILE
    assert names(bench.commit_log_files())[0] == 0
    assert b"0" + bytes(40) in bytes(held.read()[0])
    held.release()
    assert clean(store) == 4
    assert names(bench.commit_log_files()) == [4 * FILE]


def test_after_two_minutes_it_goes_anyway(bench, old, caplog):
    store = old()
    store.cleaning.order()
    first = store.read("T", 0, 0, 1, 1 << 20, None)
    held = store.hold(first.extents)
    clean(store)
    bench.clock.millis += 119_000
    assert clean(store) == 0
    bench.clock.millis += 1_000
    assert clean(store) == 4
    assert "still being read" in caplog.text
    with pytest.raises(MessagesGone):
        held.read()
    held.release()


def test_at_other_hours_such_a_file_is_tried_again(bench, old):
    hour = hour_of(bench.clock.millis)
    store = old(delete_when=(hour,))
    held = store.hold(store.read("T", 0, 0, 1, 1 << 20, None).extents)
    clean(store)
    held.release()
    bench.clock.millis += HOUR
    age(bench, 1)
    assert clean(store) == 1
    assert names(bench.commit_log_files())[0] == FILE
    assert clean(store) == 0


def test_reading_in_a_thread_beside_the_deletion(bench, old):
    store = old()
    bench.disk_use = 0.88
    held = store.hold(store.read("T", 0, 0, 1, 1 << 20, None).extents)
    got = []
    reader = threading.Thread(target=lambda: got.extend(held.read()))
    reader.start()
    clean(store)
    reader.join()
    held.release()
    assert bytes(got[0])[:4] != b""
    assert clean(store) == 4


def test_what_is_gone_cannot_be_held(bench, old):
    store = old()
    extents = store.read("T", 0, 0, 1, 1 << 20, None).extents
    bench.disk_use = 0.88
    clean(store)
    with pytest.raises(MessagesGone):
        store.hold(extents)
    assert store.load(extents) is None
    assert store.record_at(extents[0][0]) is None


def test_a_file_that_somebody_else_removed_is_an_error_not_gone(bench, old):
    store = old()
    held = store.hold(store.read("T", 0, 0, 1, 1 << 20, None).extents)
    bench.commit_log_files()[0].unlink()
    with pytest.raises(StoreError) as raised:
        held.read()
    assert not isinstance(raised.value, MessagesGone)
    held.release()
    bench.disk_use = 0.88
    assert clean(store) == 4


def test_a_deletion_that_fails_is_tried_again_in_order(bench, old, monkeypatch):
    store = old()
    bench.disk_use = 0.88
    real = os.unlink

    def failing(path, **more):
        raise OSError(errno.EIO, "I/O error", str(path))

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(StoreError, match="deleting"):
        clean(store)
    assert len(bench.commit_log_files()) == 5
    monkeypatch.setattr(os, "unlink", real)
    assert clean(store) == 4
    assert names(bench.commit_log_files()) == [4 * FILE]


# --- settings and the disk


def test_hours():
    assert parse_hours("04") == (4,)
    assert parse_hours("04;16;00") == (4, 16, 0)
    for wrong in ("", "4,5", "24", "x", "04;"):
        with pytest.raises(ValueError, match="is not an hour"):
            parse_hours(wrong)


def test_the_share_is_of_what_may_be_used_and_rounded_up(tmp_path, monkeypatch):
    class Disk:
        f_blocks, f_bfree, f_bavail = 1000, 300, 100

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    assert used_share(tmp_path) == 0.88
    Disk.f_bfree, Disk.f_bavail = 500, 500
    assert used_share(tmp_path) == 0.5
    Disk.f_blocks = 0
    assert used_share(tmp_path) == -1


def test_no_share_of_what_is_not_there(tmp_path):
    assert used_share(tmp_path / "nothing") == -1
    assert 0 < used_share(tmp_path) <= 1


def test_the_log_goes_on_after_being_emptied_and_reopened(bench, old):
    store = old()
    bench.disk_use = 0.88
    write_all(store)
    clean(store)
    bench.close(store)
    bench.disk_use = 0.1
    store = bench.open()
    assert store.min_physical_offset == 4 * FILE
    assert store.put(bench.message(b"next")).queue_offset == 16


def test_who_has_something_in_a_file_is_told_before_it_goes(bench, old):
    store = old()
    store.cleaning.order()
    told = []
    store.cleaning.add_listener(lambda end: told.append((end, store.min_physical_offset)))
    assert clean(store) == 4
    assert told == [(FILE, 0), (2 * FILE, FILE), (3 * FILE, 2 * FILE), (4 * FILE, 3 * FILE)]


def test_a_file_stays_when_what_is_in_it_cannot_be_kept(bench, old):
    store = old()
    store.cleaning.order()

    def fail(end):
        raise StoreError("the disk is away")

    store.cleaning.add_listener(fail)
    with pytest.raises(StoreError, match="the disk is away"):
        clean(store)
    assert store.min_physical_offset == 0


def test_what_would_go_with_a_file_is_put_even_on_a_full_disk(bench):
    bench.disk_use = 0.95
    store = bench.open()
    store.cleaning.begin_round(store.cleaning.measure())
    with pytest.raises(StoreNotWritable):
        store.put(bench.message(b"new"))
    assert store.put_again(bench.message(b"kept")).queue_offset == 0
