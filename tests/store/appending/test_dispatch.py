"""SYNC_FLUSH: readers see what is on the disk, and offsets count what is not yet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interpreted import needs_plain_log
from tests.store.appending.test_effects import fail_next_write
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.appending.dispatch import Dispatch, _Unseen
from trimq.store.message_store import MessageStore
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint

SYNC = {"flush_disk_type": "SYNC_FLUSH"}


def seen(bench: Any, store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[bytes]:
    return list(bench.bodies(store, topic=topic, queue_id=queue_id))


def test_what_is_not_on_the_disk_is_not_seen(bench: Any) -> None:
    store, told, written = bench.open(**SYNC), [], []
    store.add_listener(lambda records: told.extend(record.queue_offset for record in records))
    store.add_write_listener(lambda: written.append(store.max_physical_offset))
    ends = [store.put(bench.message(body)).end for body in (b"a", b"b", b"c")]
    assert (written, told, seen(bench, store)) == (ends, [], [])
    assert store.max_offset("T", 0) == 0
    store.flush()
    store.show(ends[1] - 1)
    assert (told, seen(bench, store)) == ([0], [b"a"])
    store.show(ends[2])
    assert (told, seen(bench, store)) == ([0, 1, 2], [b"a", b"b", b"c"])
    assert store.put(bench.message(b"d")).queue_offset == 3


def test_one_flush_is_for_what_was_written_before_it(bench: Any) -> None:
    store = bench.open(**SYNC)
    store.put(bench.message(b"a"))
    flushed = store.flush()
    store.put(bench.message(b"b"))
    store.show(flushed)
    assert seen(bench, store) == [b"a"]


def test_without_it_everything_is_seen_at_once(bench: Any) -> None:
    store = bench.open()
    store.put(bench.message(b"a"))
    assert seen(bench, store) == [b"a"]


def test_a_write_that_fails_takes_back_its_own_offsets_only(bench: Any, monkeypatch: Any) -> None:
    store = bench.open(**SYNC)
    store.put(bench.message(b"a"))
    store.stage(bench.message(b"lost"))
    store.stage(bench.message(b"lost too"))
    fail_next_write(monkeypatch)
    with pytest.raises(Exception, match="appending"):
        store.write_staged()
    assert store.put(bench.message(b"b")).queue_offset == 1
    store.show(store.flush())
    assert seen(bench, store) == [b"a", b"b"]


@pytest.mark.parametrize("kind", ["SimpleCQ", "BatchCQ"])
def test_all_kinds_of_queues_wait(bench: Any, kind: str) -> None:
    store = bench.open(**SYNC, mapped_file_size_commit_log=1 << 16)
    store.declare_queue_type("T", kind)
    items = [BatchItem(0, b"%d" % number, b"") for number in range(3)]
    more = {"sys_flag": SysFlag.INNER_BATCH, "properties": b"INNER_NUM\x013\x02"}
    for _ in range(2):
        if kind == "BatchCQ":
            store.stage(bench.message(join_batch(items), **more))
        else:
            store.stage_batch(bench.message(join_batch(items)))
        store.write_staged()
    assert max(store.max_offset("T", 0), 0) == 0
    store.show(store.flush())
    assert store.max_offset("T", 0) == 6


def test_light_queues_wait_too(bench: Any) -> None:
    store = bench.open(**SYNC, enable_lmq=True, enable_multi_dispatch=True)
    named = b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"
    for body in (b"1", b"2"):
        store.put(bench.message(body, properties=named))
    assert store.max_offset("%LMQ%a", 0) == 0
    store.show(store.flush())
    for name in ("%LMQ%a", "%LMQ%b"):
        assert seen(bench, store, name) == [b"1", b"2"]


def test_the_brokers_own_queues_do_not_wait(bench: Any) -> None:
    """Effects are applied to what is written, and find its entry."""
    store, known = bench.open(**SYNC), []
    store.give_effect("Own", lambda record, _: known.append(store.max_offset("Own", 0)))
    store.enter_at_once("Notes")
    store.stage(bench.message(b"a", topic="Own"))
    store.stage(bench.message(b"b", topic="Notes"))
    store.stage(bench.message(b"c"))
    store.write_staged()
    assert known == [1]
    assert (seen(bench, store, "Own"), seen(bench, store, "Notes")) == ([b"a"], [b"b"])
    assert seen(bench, store) == []
    store.show(store.flush())
    assert (seen(bench, store, "Own"), seen(bench, store)) == ([b"a"], [b"c"])


def test_a_deleted_topic_gets_nothing_more(bench: Any) -> None:
    store = bench.open(**SYNC, enable_lmq=True, enable_multi_dispatch=True)
    named = b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"
    store.put(bench.message(b"old", properties=named))
    store.delete_topic("T")
    store.delete_topic("%LMQ%a")
    assert store.put(bench.message(b"new")).queue_offset == 0
    store.show(store.flush())
    assert seen(bench, store) == [b"new"]
    assert (seen(bench, store, "%LMQ%a"), seen(bench, store, "%LMQ%b")) == ([], [b"old"])


@pytest.mark.parametrize("end", ["close", "kill"])
def test_whatever_ends_the_process_it_is_there_afterwards(bench: Any, end: str) -> None:
    store = bench.open(**SYNC)
    store.put(bench.message(b"a"))
    store.show(store.flush())
    store.put(bench.message(b"b"))
    # A checkpoint vouches for what queues have, and not for what they will get.
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    getattr(bench, end)(store)
    store = bench.open(**SYNC)
    assert bench.report.clean is (end == "close")
    assert seen(bench, store) == [b"a", b"b"]
    assert store.put(bench.message(b"c")).queue_offset == 2


# --- what a term's slaves have


def test_a_record_is_seen_when_slaves_have_it_whole(bench: Any) -> None:
    store, told = bench.open(), []
    store.add_listener(lambda records: told.append([record.queue_offset for record in records]))
    store.put(bench.message(b"before"))
    store.confirm(store.max_physical_offset)
    ends = []
    for body in (b"a", b"b", b"c", b"d"):
        ends.append(store.stage(bench.message(body)).end)
    # One write, of which slaves have more and more.
    store.write_staged()
    assert (seen(bench, store), told) == ([b"before"], [[0]])
    store.confirm(ends[1] + 1)
    assert (seen(bench, store), told[1:]) == ([b"before", b"a", b"b"], [[1, 2]])
    store.confirm(ends[2] - 1)
    assert told[2:] == []
    store.confirm(ends[2])
    assert told[2:] == [[3]]
    # Offsets behind the bound are used up.
    assert store.put(bench.message(b"e")).queue_offset == 5
    store.confirm(None)
    assert told[3:] == [[4], [5]]
    assert seen(bench, store) == [b"before", b"a", b"b", b"c", b"d", b"e"]
    store.put(bench.message(b"at once"))
    assert told[5:] == [[6]]


def test_what_is_confirmed_already_is_seen_with_its_write(bench: Any) -> None:
    store = bench.open()
    store.confirm(1 << 40)
    store.put(bench.message(b"a"))
    assert seen(bench, store) == [b"a"]


@pytest.mark.parametrize("order", ["disk first", "slaves first"])
def test_disk_and_slaves_both_count(bench: Any, order: str) -> None:
    store = bench.open(**SYNC)
    store.confirm(0)
    end = store.put(bench.message(b"a")).end
    steps = [lambda: store.show(store.flush()), lambda: store.confirm(end)]
    for step in steps if order == "disk first" else reversed(steps):
        assert seen(bench, store) == []
        step()
    assert seen(bench, store) == [b"a"]


def test_light_queues_wait_for_slaves_too(bench: Any) -> None:
    store = bench.open(enable_lmq=True, enable_multi_dispatch=True)
    store.confirm(0)
    named = b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"
    ends = [store.stage(bench.message(body, properties=named)).end for body in (b"1", b"2")]
    store.write_staged()
    store.confirm(ends[0])
    for name in ("T", "%LMQ%a", "%LMQ%b"):
        assert seen(bench, store, name) == [b"1"]
    store.confirm(ends[1])
    for name in ("T", "%LMQ%a", "%LMQ%b"):
        assert seen(bench, store, name) == [b"1", b"2"]


def confirmed_in_checkpoint(bench: Any) -> int:
    return int(load_checkpoint(bench.root / "checkpoint").confirm_physical_offset)


def test_the_checkpoint_says_what_is_confirmed(bench: Any) -> None:
    """Without a term: the last record that was found at the start, as RocketMQ has it."""
    store = bench.open()
    places = [store.put(bench.message(b"%d" % number)) for number in range(4)]
    bench.close(store)
    assert confirmed_in_checkpoint(bench) == 0
    store = bench.open()
    store.put(bench.message(b"later"))
    bench.close(store)
    assert confirmed_in_checkpoint(bench) == places[3].physical_offset
    store = bench.open()
    store.confirm(places[2].end - 3)
    store.plan_checkpoint().run()
    assert confirmed_in_checkpoint(bench) == places[2].end - 3
    store.confirm(1 << 40)
    store.plan_checkpoint().run()
    assert confirmed_in_checkpoint(bench) == store.max_physical_offset
    end = store.max_physical_offset
    store.cut(places[1].end)
    assert confirmed_in_checkpoint(bench) <= places[1].end < end
    bench.close(store)
    bench.open()
    assert bench.report.confirmed == places[1].end


@pytest.mark.parametrize(("stored", "expected"), [(-5, 0), (0, 0), (7, 7), (1 << 40, None)])
def test_what_is_confirmed_lies_in_the_log(bench: Any, stored: int, expected: int | None) -> None:
    store = bench.open()
    end = store.put(bench.message(b"a")).end
    bench.close(store)
    file = bench.root / "checkpoint"
    checkpoint = load_checkpoint(file)
    checkpoint.confirm_physical_offset = stored
    save_checkpoint(file, checkpoint)
    bench.open()
    assert bench.report.confirmed == (end if expected is None else expected)


@needs_plain_log
def test_without_a_bound_a_write_does_nothing_more(bench: Any, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("asked about a bound")

    monkeypatch.setattr(_Unseen, "take", fail)
    monkeypatch.setattr(Dispatch, "show_whatever", fail)
    monkeypatch.setattr(Dispatch, "bound", property(fail))
    store = bench.open()
    store.put(bench.message(b"a"))
    assert seen(bench, store) == [b"a"]
