"""A log that is taken over byte by byte, cut anywhere, and the queues that follow it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.conftest import Bench
from trimq.codec.flags import SysFlag
from trimq.codec.records.properties import format_properties
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError, StoreNotWritable
from trimq.store.message_store import MessageStore
from trimq.store.slave.copied_log import STEP_BYTES, CopiedLog

FILE = 1024


@pytest.fixture
def slave(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "slave")
    yield bench
    bench.end()


def log_bytes(bench: Bench) -> bytes:
    return b"".join(path.read_bytes() for path in bench.commit_log_files())


def give(copied: CopiedLog, data: bytes, start: int, end: int, step: int = 0) -> None:
    """What a stream would: pieces that do not go over a file's end."""
    while start < end:
        size = min(end - start, copied.room, step or end)
        copied.append([data[start : start + size]], size)
        start += size


def derive_all(copied: CopiedLog) -> None:
    while copied.derive_some():
        pass


def places(store: MessageStore, topic: str, queue_id: int) -> list[tuple[int, int, int]]:
    found = []
    for offset in range(store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)):
        entry = store.queue_entry(topic, queue_id, offset)
        assert entry is not None
        found.append((entry.physical_offset, entry.size, entry.tags_code))
    return found


def filled(bench: Bench, count: int = 60) -> MessageStore:
    store = bench.open()
    for at in range(count):
        kind = SysFlag.PREPARED if at % 11 == 3 else SysFlag.NOT_TRANSACTION
        body = b"x" * (at * 7 % 90 + 1)
        store.put(
            bench.message(body, f"T{at % 2}", queue_id=at % 3, tag=f"t{at}", sys_flag=int(kind))
        )
    return store


@pytest.mark.parametrize("step", [1, 7, 100, 5000])
def test_queues_follow_whatever_the_pieces(bench: Bench, slave: Bench, step: int) -> None:
    master = filled(bench)
    data, end = log_bytes(bench), master.max_physical_offset
    store = slave.open()
    copied = store.follow()
    heard = []
    store.add_listener(lambda records: heard.extend(r.physical_offset for r in records))
    for start in range(0, end, step):
        give(copied, data, start, min(start + step, end))
        derive_all(copied)
    assert store.max_physical_offset == end
    assert copied.derived == end
    assert heard == [r.physical_offset for r in master.records_from(0)]
    for topic in ("T0", "T1"):
        for queue_id in range(3):
            assert places(store, topic, queue_id) == places(master, topic, queue_id)
    assert log_bytes(slave) == data


def test_half_a_record_is_cut_at_the_next_start(bench: Bench, slave: Bench) -> None:
    master = filled(bench, 20)
    data, end = log_bytes(bench), master.max_physical_offset
    whole = list(master.records_from(0))[-1].physical_offset
    store = slave.open()
    copied = store.follow()
    give(copied, data, 0, end - 3)
    derive_all(copied)
    assert copied.derived == whole
    slave.close(store)
    again = slave.open()
    assert again.max_physical_offset == whole
    copied = again.follow()
    give(copied, data, whole, end)
    derive_all(copied)
    assert places(again, "T1", 1) == places(master, "T1", 1)


@pytest.mark.parametrize("seed", range(8))
def test_kills_at_any_moment(bench: Bench, slave: Bench, seed: int) -> None:
    chance = random.Random(seed)
    master = filled(bench, 80)
    data, end = log_bytes(bench), master.max_physical_offset
    while True:
        store = slave.open()
        copied = store.follow()
        for _ in range(chance.randrange(12)):
            to = min(end, copied.end + chance.randrange(600))
            give(copied, data, copied.end, to)
            if chance.random() < 0.6:
                copied.derive_some()
            if chance.random() < 0.2:
                store.write_derived()
        if copied.end == end:
            break
        if chance.random() < 0.5:
            slave.kill(store)
        else:
            slave.close(store)
    derive_all(copied)
    for topic in ("T0", "T1"):
        for queue_id in range(3):
            assert places(store, topic, queue_id) == places(master, topic, queue_id)


def test_a_log_may_begin_with_any_file(bench: Bench, slave: Bench) -> None:
    master = filled(bench)
    data, end = log_bytes(bench), master.max_physical_offset
    begin = end - end % FILE
    store = slave.open()
    copied = store.follow()
    with pytest.raises(StoreError, match="cannot begin"):
        copied.begin_at(begin + 1)
    copied.begin_at(begin)
    give(copied, data, begin, end)
    derive_all(copied)
    assert (store.min_physical_offset, store.max_physical_offset) == (begin, end)
    later = [place for place in places(master, "T0", 0) if place[0] >= begin]
    assert places(store, "T0", 0) == later
    assert store.min_offset("T0", 0) == master.max_offset("T0", 0) - len(later)
    slave.kill(store)
    again = slave.open()
    assert places(again, "T0", 0) == later


def test_a_topic_that_was_deleted_and_made_again(bench: Bench, slave: Bench) -> None:
    master = bench.open()
    store = slave.open()
    copied = store.follow()

    def follow() -> None:
        give(copied, log_bytes(bench), copied.end, master.max_physical_offset)
        derive_all(copied)

    for _ in range(3):
        master.put(bench.message(b"old"))
    follow()
    master.delete_topic("T")
    master.put(bench.message(b"new"))
    follow()
    assert places(store, "T", 0) == places(master, "T", 0)
    assert len(places(store, "T", 0)) == 1


def test_known_messages_are_skipped_and_a_gap_is_rebuilt(
    bench: Bench, slave: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    master = bench.open()
    for _ in range(4):
        master.put(bench.message(b"m"))
    data, end = log_bytes(bench), master.max_physical_offset
    store = slave.open()
    copied = store.follow()
    give(copied, data, 0, end)
    derive_all(copied)
    copied.derived = 0
    derive_all(copied)
    assert places(store, "T", 0) == places(master, "T", 0)
    assert not caplog.records
    # A queue that lacks the second message and is given the third.
    third = list(master.records_from(0))[2].physical_offset
    other = slave.root.parent / "other"
    store = MessageStore(StoreConfig(root=other, **slave.small), slave.clock)
    store.open()
    copied = store.follow()
    give(copied, data, 0, third - 5)
    derive_all(copied)
    give(copied, data, copied.end, end)
    copied.derived = third
    derive_all(copied)
    assert places(store, "T", 0) == places(master, "T", 0)
    assert [r.levelname for r in caplog.records] == ["ERROR"]
    store.close()


def test_damage_stops_the_queues_and_is_said_once(
    bench: Bench, slave: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    master = filled(bench, 40)
    data, end = bytearray(log_bytes(bench)), master.max_physical_offset
    records = list(master.records_from(0))
    broken = records[5].physical_offset
    data[broken + 100] ^= 0xFF
    store = slave.open(max_message_size=16)
    copied = store.follow()
    copied._largest_record = 200
    give(copied, bytes(data), 0, end)
    for _ in range(3):
        derive_all(copied)
    assert copied.derived == broken
    assert [r.levelname for r in caplog.records] == ["ERROR"]


def test_it_takes_no_messages(bench: Bench) -> None:
    store = bench.open()
    store.follow()
    with pytest.raises(StoreNotWritable, match="follows another"):
        store.put(bench.message(b"m"))


@pytest.mark.parametrize("most", [1, 3, 512])
def test_small_steps_come_to_the_same(bench: Bench, slave: Bench, most: int) -> None:
    master = filled(bench)
    data, end = log_bytes(bench), master.max_physical_offset
    store = slave.open()
    copied = store.follow()
    for start in range(0, end, 333):
        give(copied, data, start, min(start + 333, end))
        while copied.derive_some(most):
            pass
    assert copied.derived == end
    for topic in ("T0", "T1"):
        for queue_id in range(3):
            assert places(store, topic, queue_id) == places(master, topic, queue_id)


def test_with_sync_flush_queues_follow_the_disk(bench: Bench, slave: Bench) -> None:
    master = filled(bench, 20)
    data, end = log_bytes(bench), master.max_physical_offset
    store = slave.open(flush_disk_type="SYNC_FLUSH")
    copied = store.follow()
    grown, shown = [], []
    store.add_write_listener(lambda: grown.append(copied.end))
    copied.listen(lambda: shown.append(copied.bound))
    middle = end // 2
    give(copied, data, 0, middle)
    derive_all(copied)
    assert (copied.derived, store.max_offset("T0", 0)) == (0, 0)
    assert grown[-1] == middle
    store.show(store.flush())
    give(copied, data, middle, end)
    derive_all(copied)
    # Up to the last whole record that is on the disk.
    records = [r for r in master.records_from(0) if r.physical_offset + r.size <= middle]
    assert copied.derived == records[-1].physical_offset + records[-1].size < middle
    store.show(store.flush())
    derive_all(copied)
    assert copied.derived == end
    assert shown == [middle, end]
    assert places(store, "T0", 0) == places(master, "T0", 0)


@pytest.mark.parametrize("settings", [{}, {"flush_disk_type": "SYNC_FLUSH"}], ids=["async", "sync"])
def test_queues_follow_what_a_term_has_confirmed(
    bench: Bench, slave: Bench, settings: dict[str, str]
) -> None:
    """Up to the last whole record before it, and before what is on the disk with SYNC_FLUSH."""
    master = filled(bench, 20)
    data, end = log_bytes(bench), master.max_physical_offset
    records = list(master.records_from(0))
    store = slave.open(**settings)
    copied, shown = store.follow(), []
    copied.listen(lambda: shown.append(copied.bound))
    store.confirm(0)
    give(copied, data, 0, end)
    for record in (records[3], records[9]):
        store.confirm(record.physical_offset + record.size - 1)
        derive_all(copied)
        assert copied.derived == (0 if settings else record.physical_offset)
    store.show(store.flush())
    derive_all(copied)
    assert copied.derived == records[9].physical_offset
    store.confirm(None)
    derive_all(copied)
    assert copied.derived == end
    assert shown[-1] == end
    assert places(store, "T0", 0) == places(master, "T0", 0)


def test_effects_come_in_the_order_of_the_log(bench: Bench, slave: Bench) -> None:
    """The queues of a step are entered one after the other."""
    master = filled(bench)
    data, end = log_bytes(bench), master.max_physical_offset
    store = slave.open()
    applied: list[int] = []
    for topic in ("T0", "T1"):
        store.give_effect(topic, lambda record, _: applied.append(record.physical_offset))
    copied = store.follow()
    give(copied, data, 0, end)
    derive_all(copied)
    assert applied == sorted(applied)
    assert len(applied) == sum(len(places(store, f"T{at % 2}", at // 2)) for at in range(6))


def test_light_queues_are_entered_in_the_order_of_the_log(
    bench: Bench, slave: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A light queue may also be a record's own."""
    on = {"enable_lmq": True, "enable_multi_dispatch": True}
    light = "%LMQ%a"
    master = bench.open(**on)
    named = format_properties({"INNER_MULTI_DISPATCH": light})
    for at in range(12):
        if at % 3 == 1:
            master.put(bench.message(b"m", light))
        else:
            master.put(bench.message(b"m", "T", at % 2, properties=named if at % 3 else b""))
    store = slave.open(**on)
    copied = store.follow()
    give(copied, log_bytes(bench), 0, master.max_physical_offset)
    derive_all(copied)
    assert len(places(master, light, 0)) == 8
    for topic, queue_id in ((light, 0), ("T", 0), ("T", 1)):
        assert places(store, topic, queue_id) == places(master, topic, queue_id)
    assert not caplog.records


def test_a_step_ends_after_so_many_bytes(tmp_path: Path) -> None:
    """512 records of 60 KB took as long as 77 ms."""
    size, large = 8 << 20, 60_000
    bench, other = Bench(tmp_path / "m"), Bench(tmp_path / "s")
    try:
        master = bench.open(mapped_file_size_commit_log=size)
        copied = other.open(mapped_file_size_commit_log=size).follow()
        for _ in range(100):
            master.put(bench.message(b"x" * large))
        give(copied, log_bytes(bench), 0, master.max_physical_offset)
        before, steps = 0, 0
        while copied.derive_some():
            assert copied.derived - before <= STEP_BYTES + large + 1000
            before, steps = copied.derived, steps + 1
        assert copied.derived == master.max_physical_offset
        assert steps == 6
    finally:
        bench.end()
        other.end()
