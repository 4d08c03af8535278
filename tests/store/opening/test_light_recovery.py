"""Light queues after a crash: their entries come from the records, as those of every queue."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.cleaning import clean, write_all
from trimq.codec.entries.queue import parse_all
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import parse_record
from trimq.store.checking.check import StoreCheck

ON = {"enable_lmq": True, "enable_multi_dispatch": True}
NAMES = ["%LMQ%a", "%LMQ%b", "%LMQ%c"]
FILE = 1024


def put(bench, store, number, names, topic="T"):
    properties = {"INNER_MULTI_DISPATCH": ",".join(names)} if names else {}
    body = b"%d" % number + bytes(40)
    store.put(bench.message(body, topic, properties=format_properties(properties)))


def fill(bench, store, count, start=0):
    for number in range(start, start + count):
        put(bench, store, number, NAMES[: number % 4])


def entries(store):
    """Everything that the light queues know."""
    found = {}
    for name in NAMES:
        for offset in range(store.min_offset(name, 0), store.max_offset(name, 0)):
            entry = store.queue_entry(name, 0, offset)
            found[name, offset] = (entry.physical_offset, entry.size, entry.tags_code)
    return found


def bodies(store, name):
    places = [store.queue_entry(name, 0, n) for n in range(store.max_offset(name, 0))]
    found = [parse_record(store.record_at(one.physical_offset)).body for one in places]
    return [int(body.rstrip(b"\0")) for body in found]


def problems(bench):
    return list(StoreCheck(bench.root).run().findings.problems())


def test_a_kill_loses_no_entry(bench):
    store = bench.open(**ON)
    fill(bench, store, 30)
    before = entries(store)
    bench.kill(store)
    store = bench.open(**ON)
    assert not bench.report.clean
    assert entries(store) == before
    fill(bench, store, 4, start=30)
    assert bodies(store, "%LMQ%a") == [n for n in range(34) if n % 4 >= 1]
    bench.close(store)
    assert problems(bench) == []


def test_a_clean_stop_scans_one_record(bench):
    store = bench.open(**ON)
    fill(bench, store, 31)
    before = entries(store)
    bench.close(store)
    store = bench.open(**ON)
    assert (bench.report.records, bench.report.entries) == (1, 0)
    assert entries(store) == before


@pytest.mark.parametrize("clean", [True, False])
def test_all_queues_are_rebuilt_from_the_log(bench, clean):
    store = bench.open(**ON)
    fill(bench, store, 30)
    before = entries(store)
    (bench.close if clean else bench.kill)(store)
    shutil.rmtree(bench.root / "consumequeue", ignore_errors=True)
    store = bench.open(**ON)
    assert entries(store) == before
    assert store.light_queues == 3


@pytest.mark.parametrize("written", [0, 8, 16])
def test_what_the_checkpoint_does_not_vouch_for_is_restored(bench, written):
    store = bench.open(**ON)
    fill(bench, store, written)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    fill(bench, store, 20, start=written)
    while store.write_derived():
        pass
    before = entries(store)
    bench.kill(store)
    # A power loss tears what was not synced.
    for name in NAMES:
        last = bench.queue_files(name, 0)[-1]
        data = bytearray(last.read_bytes())
        held = len(data.rstrip(b"\0"))
        data[max(held - 30, 0) : held] = bytes(min(held, 30))
        if written == 0:
            last.write_bytes(data)
    store = bench.open(**ON)
    assert entries(store) == before


def test_entries_of_records_that_are_gone_go(bench):
    store = bench.open(**ON)
    fill(bench, store, 12)
    while store.write_derived():
        pass
    before = entries(store)
    bench.kill(store)
    last = max(before.values())[0]
    for file in bench.commit_log_files():
        base = int(file.name)
        if base > last:
            file.unlink()
        elif base + FILE > last:
            os.truncate(file, last - base)
    store = bench.open(**ON)
    kept = {place: entry for place, entry in before.items() if entry[0] < last}
    assert len(kept) < len(before)
    assert entries(store) == kept
    fill(bench, store, 8, start=20)
    bench.close(store)
    assert problems(bench) == []


def test_a_queue_that_was_deleted_begins_again(bench):
    store = bench.open(**ON)
    fill(bench, store, 8)
    store.delete_topic("%LMQ%a")
    for number in (100, 101):
        put(bench, store, number, ["%LMQ%a"])
    assert bodies(store, "%LMQ%a") == [100, 101]
    bench.kill(store)
    store = bench.open(**ON)
    assert bodies(store, "%LMQ%a") == [100, 101]
    bench.close(store)
    shutil.rmtree(bench.root / "consumequeue")
    store = bench.open(**ON)
    assert bodies(store, "%LMQ%a") == [100, 101]


@pytest.mark.parametrize("clean", [True, False])
def test_switched_off_the_queues_stay_as_they_were(bench, clean):
    """And get no more entries, until they are wanted again."""
    store = bench.open(**ON)
    fill(bench, store, 10)
    while store.write_derived():
        pass
    fill(bench, store, 10)
    before = entries(store)
    (bench.close if clean else bench.kill)(store)
    store = bench.open()
    assert entries(store) == before
    put(bench, store, 50, NAMES)
    assert entries(store) == before
    (bench.close if clean else bench.kill)(store)
    store = bench.open(**ON)
    assert entries(store) == before
    put(bench, store, 51, NAMES)
    assert bodies(store, "%LMQ%c")[-1] == 51


def test_old_records_are_not_entered_when_it_is_switched_on(bench):
    store = bench.open()
    put(bench, store, 0, NAMES)
    bench.kill(store)
    store = bench.open(**ON)
    assert store.light_queues == 0
    put(bench, store, 1, NAMES)
    assert bodies(store, "%LMQ%a") == [1]


def forged(bench, store, number, names, offsets):
    """A record as another broker may have left it."""
    properties = format_properties(
        {"INNER_MULTI_DISPATCH": names, "INNER_MULTI_QUEUE_OFFSET": offsets}
    )
    store.put(bench.message(b"%d" % number, properties=properties))


def rebuilt(bench, store):
    bench.close(store)
    shutil.rmtree(bench.root / "consumequeue")
    return bench.open(**ON)


def test_numbers_ahead_of_the_entries_leave_no_gap(bench):
    """The real broker counts a queue that is named twice twice, and enters it once."""
    store = bench.open()
    for number, offset in enumerate((0, 2, 4)):
        forged(bench, store, number, "%LMQ%a,%LMQ%a", f"{offset},{offset}")
    store = rebuilt(bench, store)
    assert bodies(store, "%LMQ%a") == [0, 1, 2]
    put(bench, store, 3, ["%LMQ%a"])
    assert bodies(store, "%LMQ%a") == [0, 1, 2, 3]
    bench.kill(store)
    store = bench.open(**ON)
    assert bodies(store, "%LMQ%a") == [0, 1, 2, 3]
    put(bench, store, 4, ["%LMQ%a"])
    bench.kill(store)
    store = bench.open(**ON)
    assert bodies(store, "%LMQ%a") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "offsets"),
    [
        ("%LMQ%a", "-1"),
        ("%LMQ%a", "x"),
        ("%LMQ%a,%LMQ%b", "0"),
        ("%LMQ%../../evil", "0"),
        ("..", "0"),
        ("T", "0"),
        ("%LMQ%a", "99999999999999999999"),
    ],
)
def test_records_that_say_nothing_useful_are_in_no_light_queue(bench, names, offsets):
    store = bench.open()
    forged(bench, store, 0, names, offsets)
    store = rebuilt(bench, store)
    assert store.topics() == ["T"]
    assert not (bench.root.parent / "evil").exists()


def test_a_queue_begins_where_its_first_record_says(bench):
    """Those before it have gone with their files."""
    store = bench.open()
    forged(bench, store, 7, "%LMQ%a", "7")
    store = rebuilt(bench, store)
    assert (store.min_offset("%LMQ%a", 0), store.max_offset("%LMQ%a", 0)) == (7, 8)
    put(bench, store, 8, ["%LMQ%a"])
    bench.close(store)
    store = bench.open(**ON)
    assert (store.min_offset("%LMQ%a", 0), store.max_offset("%LMQ%a", 0)) == (7, 9)
    (first,) = bench.queue_files("%LMQ%a", 0)
    assert len(parse_all(first.read_bytes())) == 5


def test_light_queues_are_trimmed_with_the_log(bench):
    store = bench.open(**ON, delete_when=())
    fill(bench, store, 60)
    write_all(store)
    files = len(bench.queue_files("%LMQ%a", 0))
    bench.disk_use = 0.88
    clean(store)
    start = store.min_physical_offset
    assert start > 0
    assert store.min_offset("%LMQ%a", 0) > 0
    assert len(bench.queue_files("%LMQ%a", 0)) < files
    before = entries(store)
    assert all(entry[0] >= start for entry in before.values())
    bench.kill(store)
    store = bench.open(**ON)
    assert entries(store) == before
    bench.close(store)
    shutil.rmtree(bench.root / "consumequeue")
    store = bench.open(**ON)
    assert entries(store) == before


@given(
    steps=st.lists(
        st.one_of(
            st.lists(st.sampled_from(NAMES), max_size=3),
            st.sampled_from(["kill", "close", "derived", "checkpoint"]),
        ),
        max_size=40,
    )
)
def test_any_order_of_work_and_crashes(make_bench, tmp_path_factory, steps):
    bench = make_bench(tmp_path_factory.mktemp("light") / "store")
    store = bench.open(**ON)
    wanted = {name: [] for name in NAMES}
    for number, step in enumerate(steps):
        if isinstance(step, list):
            put(bench, store, number, step)
            for name in set(step):
                wanted[name].append(number)
        elif step == "derived":
            store.write_derived()
        elif step == "checkpoint":
            while store.write_derived():
                pass
            store.plan_checkpoint().run()
        else:
            (bench.kill if step == "kill" else bench.close)(store)
            store = bench.open(**ON)
    assert {name: bodies(store, name) for name in NAMES} == wanted
    bench.close(store)
    assert problems(bench) == []
