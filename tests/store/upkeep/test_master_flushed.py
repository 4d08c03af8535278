"""What a slave was told of its master's disk stays in the checkpoint, whatever else that says."""

from __future__ import annotations

from tests.store.conftest import Bench


def test_it_outlives_the_process(bench: Bench) -> None:
    store = bench.open()
    assert store.master_flushed_offset == 0
    store.master_flushed_offset = 100
    bench.close(store)
    store = bench.open()
    assert store.master_flushed_offset == 100
    store.master_flushed_offset = 200
    store.put(bench.message(b"m"))
    store.plan_checkpoint().run()
    bench.kill(store)
    assert bench.open().master_flushed_offset == 200


def test_it_stays_when_the_rest_is_taken_back(bench: Bench) -> None:
    store = bench.open()
    store.put(bench.message(b"m"))
    store.master_flushed_offset = 100
    store._behind.restart()
    assert store.master_flushed_offset == 100
    store._behind.take_back_checkpoint()
    bench.kill(store)
    assert bench.open().master_flushed_offset == 100
