"""Consume queues are written behind, beside the event loop, whatever the disk takes for each of them."""

import errno
import os

import pytest

from trimq.store.errors import DiskFull
from trimq.store.upkeep.write_behind import QUEUES_AT_ONCE

QUEUES = 20


def made(bench):
    return sorted((bench.root / "consumequeue").glob("T/*/*"))


def filled(bench, queues=QUEUES):
    store = bench.open()
    for queue_id in range(queues):
        store.put(bench.message(b"x", queue_id=queue_id))
    return store


def taken(store):
    """What the thread is to write now."""
    while (writing := store.take_derived()).is_empty:
        store.settle_derived(writing)
    return writing


def counts(bench, store, queues=QUEUES):
    """How many messages each queue has, as readers find them."""
    return [len(bench.records(store, queue_id=queue_id)) for queue_id in range(queues)]


def again(bench, store):
    """Behind a kill."""
    bench.kill(store)
    return bench.open()


def write_all(store):
    while store.write_derived():
        pass


def test_so_many_queues_are_taken_at_once(bench):
    store = filled(bench, QUEUES_AT_ONCE + 1)
    taken(store).run()
    assert len(made(bench)) == QUEUES_AT_ONCE


def test_what_is_being_written_is_read(bench):
    """Before it is written, when it is and nobody has noted that, and afterwards."""
    store = filled(bench)
    writing = taken(store)
    assert counts(bench, store) == [1] * QUEUES
    writing.run()
    assert counts(bench, store) == [1] * QUEUES
    assert not store.settle_derived(writing)
    assert counts(bench, store) == [1] * QUEUES


def test_what_comes_meanwhile_is_written_next(bench):
    store = filled(bench)
    writing = taken(store)
    store.put(bench.message(b"y", queue_id=3))
    writing.run()
    store.put(bench.message(b"z", queue_id=3))
    assert not store.settle_derived(writing)
    assert counts(bench, store)[3] == 3
    write_all(store)
    assert counts(bench, again(bench, store))[3] == 3


@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_topic_that_goes_meanwhile_leaves_nothing(bench, when):
    """Neither files that a thread makes behind its back, nor entries in its next life."""
    store = filled(bench)
    writing = taken(store)
    if when == "behind":
        writing.run()
    store.delete_topic("T")
    writing.run()
    store.settle_derived(writing)
    assert made(bench) == []
    assert not (bench.root / "consumequeue" / "T").exists()
    store.put(bench.message(b"new", queue_id=0))
    assert counts(bench, store, 1) == [1]
    write_all(store)
    assert counts(bench, store, 1) == [1]


def test_a_full_disk_loses_nothing(bench, monkeypatch):
    """What was written before is not written again, and what was not is."""
    store = filled(bench)
    writing = taken(store)
    count, real = 0, os.ftruncate

    def fail(fd, size):
        nonlocal count
        count += 1
        if count == 7:
            raise OSError(errno.ENOSPC, "full")
        real(fd, size)

    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(DiskFull):
        writing.run()
    assert store.settle_derived(writing)
    assert counts(bench, store) == [1] * QUEUES
    write_all(store)
    assert len(made(bench)) == QUEUES
    assert counts(bench, again(bench, store)) == [1] * QUEUES


def test_a_store_that_is_closed_meanwhile_writes_all_of_it(bench):
    store = filled(bench)
    writing = taken(store)
    store.put(bench.message(b"y", queue_id=3))
    bench.close(store)
    writing.run()
    assert counts(bench, bench.open()) == [1, 1, 1, 2, *[1] * (QUEUES - 4)]


def test_what_a_checkpoint_has_synced_is_not_kept(bench):
    """Of a hundred thousand queues it is much, and was freed in one step of the loop by the next one."""
    store = bench.open()
    store.put(bench.message(b"x"))
    write_all(store)
    plan = store.plan_checkpoint()
    assert plan.files
    plan.run()
    assert plan.done
    assert not plan.files | plan.directories
