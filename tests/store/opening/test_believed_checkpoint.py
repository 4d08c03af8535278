"""What recovery believes of a checkpoint, and when one is written."""

from __future__ import annotations

from tests.store.opening.test_recovery import entries, fill
from trimq.codec.entries.checkpoint import Checkpoint
from trimq.store.upkeep.checkpoint_file import load_checkpoint, save_checkpoint
from trimq.store.upkeep.write_behind import QUEUES_AT_ONCE

# More than are written at once.
MANY = QUEUES_AT_ONCE + 50


def test_the_scan_begins_at_the_checkpoint(bench):
    store = bench.open()
    fill(bench, store, 40)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    fill(bench, store, 3, start=40)
    before = entries(store)
    bench.kill(store)
    store = bench.open()
    assert (bench.report.records, bench.report.entries) == (4, 3)
    assert entries(store) == before


def test_a_checkpoint_vouches_only_for_a_finished_round(bench):
    store = bench.open()
    for number in range(MANY):
        store.put(bench.message(b"x", topic=f"T{number}"))
    assert store.write_derived()
    store.plan_checkpoint().run()
    bench.kill(store)
    store = bench.open()
    assert bench.report.entries == MANY
    assert all(store.max_offset(f"T{number}", 0) == 1 for number in range(MANY))


def test_a_checkpoint_that_names_no_record_is_not_believed(bench):
    store = bench.open()
    fill(bench, store, 40)
    before = entries(store)
    bench.kill(store)
    for offset in (7, 10_000, 1 << 40):
        save_checkpoint(bench.root / "checkpoint", Checkpoint(queue_physical_offset=offset))
        store = bench.open()
        assert entries(store) == before
        bench.kill(store)


def test_no_checkpoint_before_every_queue_was_checked(bench):
    store = bench.open()
    for number in range(100):
        store.put(bench.message(b"x", topic=f"T{number}"))
    bench.close(store)
    store = bench.open()
    fill(bench, store, 1)
    bench.kill(store)
    store = bench.open()
    path = bench.root / "checkpoint"
    before = load_checkpoint(path).queue_physical_offset
    fill(bench, store, 3)
    assert store.write_derived()
    store.plan_checkpoint().run()
    assert load_checkpoint(path).queue_physical_offset == before
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    assert load_checkpoint(path).queue_physical_offset > before
