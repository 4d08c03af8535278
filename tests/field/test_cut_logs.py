"""A log that is cut: what its tail has left elsewhere counts for nothing (apache/rocketmq 10417, 10666, 10668).

In RocketMQ 5.5.0 a queue whose entries are all gone keeps its smallest offset, above its largest. In 5.5.1, too, the
bytes behind the cut stay in the file as whole records, which the next start takes for the log's end, and timers
beyond it are looked for again and again. Right: as if the log had never been longer.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.timers.timing import Timing
from tests.store.conftest import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store")
    yield made
    made.end()


def put(bench: Bench, store: Any, topic: str, count: int) -> int:
    """The log's end behind them."""
    for number in range(count):
        store.put(bench.message(b"%d" % number, topic))
    store.show(store.flush())
    while store.write_derived():
        pass
    end: int = store.max_physical_offset
    return end


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_queue_without_entries_begins_where_it_ends(bench: Bench, trimmed: bool) -> None:
    """10417. `trimmed`: its first messages had been deleted, so its smallest offset was not 0."""
    store = bench.open()
    end = put(bench, store, "First", 10)
    put(bench, store, "T", 20)
    if trimmed:
        bench.close(store)
        for file in bench.commit_log_files()[:2]:
            file.unlink()
        store = bench.open()
        end = max(end, store.min_physical_offset)
    store.cut(end)
    low, high = store.min_offset("T", 0), store.max_offset("T", 0)
    assert low == high
    assert trimmed or high == 0
    # What comes now is seen by whoever reads from where the queue begins.
    put(bench, store, "T", 3)
    assert bench.bodies(store) == [b"0", b"1", b"2"]
    before = store.min_offset("T", 0), store.max_offset("T", 0)
    bench.kill(store)
    store = bench.open()
    assert (store.min_offset("T", 0), store.max_offset("T", 0)) == before
    assert bench.bodies(store) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("more", [0, 1])
def test_records_behind_the_cut_do_not_come_back(bench: Bench, more: int) -> None:
    """10666: a start after a kill finds them whole. `more`: a record is written in the place of the first."""
    store = bench.open()
    end = put(bench, store, "T", 2)
    put(bench, store, "T", 30)
    store.cut(end)
    if more:
        assert put(bench, store, "T", 1) > end
    end = store.max_physical_offset
    bench.kill(store)
    behind = b"".join(file.read_bytes() for file in bench.commit_log_files())[end:]
    assert not any(behind)
    store = bench.open()
    assert store.max_physical_offset == end
    assert store.max_offset("T", 0) == 2 + more


@pytest.fixture
async def timing(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Timing]:
    made = Timing(tmp_path / "store", nursery)
    await made.start()
    yield made
    made.kill()


async def test_a_timer_beyond_the_cut_holds_up_nobody(autojump_clock: Any, timing: Timing) -> None:
    """10668: what lies there now is another message, or none, and the wheel stands still over it."""
    timing.send("stays", 20)
    await timing.until(2)
    end = timing.store.max_physical_offset
    for number in range(20):
        timing.send(f"goes {number}", 6)
    await timing.until(5)
    assert timing.timers.waiting() == 21
    timing.scope.cancel()
    await trio.lowlevel.checkpoint()
    timing.store.cut(end)
    timing.timers.recover(end)
    # Records of another kind, where the timers had been.
    timing.send("comes", 30, padding="x" * 500)
    timing.scope = trio.CancelScope()
    timing.run()
    await timing.until(40)
    assert timing.bodies == ["stays", "comes"]
    assert timing.timers.waiting() == 0
