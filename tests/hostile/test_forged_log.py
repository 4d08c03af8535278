"""A record that no send makes stops no queue of a slave, and no start: of a store that has it, clean or killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hostile.forged_log import (
    GOOD,
    TOPIC,
    Forged,
    check_whole,
    forged_records,
    good_places,
    log_of,
)
from tests.store.conftest import Bench
from trimq.store.message_store import MessageStore

FILE = 256 * 1024
SETTINGS = {
    "mapped_file_size_commit_log": FILE,
    "mapped_file_size_consume_queue": 20 * 1000,
    "max_hash_slot_num": 100,
    "max_index_num": 10_000,
    "enable_lmq": True,
    "enable_multi_dispatch": True,
}
RECORDS = dict(forged_records())


def places(store: MessageStore, topic: str = TOPIC) -> list[int]:
    low, high = store.min_offset(topic, 0), store.max_offset(topic, 0)
    entries = [store.queue_entry(topic, 0, offset) for offset in range(max(low, 0), high)]
    return [entry.physical_offset for entry in entries if entry is not None]


def settle(store: MessageStore) -> None:
    """Whatever is derived is written down, and vouched for."""
    while store.write_derived():
        pass
    store.plan_checkpoint().run()


def check(store: MessageStore, log: bytes, topic: str = TOPIC, first: int = 0) -> None:
    """`first`: of the messages that have to be there."""
    found, good = places(store, topic), good_places(log)[first:]
    assert [place for place in found if place in good] == good
    assert store.max_physical_offset == len(log)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "store")


def write_log(root: Path, log: bytes) -> None:
    (root / "commitlog").mkdir(parents=True)
    (root / "commitlog" / f"{0:020d}").write_bytes(log.ljust(FILE, b"\0"))


@pytest.mark.parametrize("topic", [TOPIC, "Batches"])
@pytest.mark.parametrize("name", RECORDS)
def test_one_forged_record(bench: Bench, name: str, topic: str) -> None:
    """Copied; then the store is started after a stop, a kill, and without its queues."""
    forged: Forged = RECORDS[name]
    if forged.topic == TOPIC.encode():
        forged = forged._replace(topic=topic.encode())
    log = log_of([forged], topic)
    check_whole(log)
    # Nothing tells an entry of a batch queue that such a topic was not made anew.
    first = GOOD if forged.queue_offset == 0 and forged.topic == b"Batches" else 0
    bench.batch_topics = frozenset({"Batches"})
    store = bench.open(**SETTINGS)
    copied = store.follow()
    for start in range(0, len(log), 700):
        copied.append([log[start : start + 700]], len(log[start : start + 700]))
        while copied.derive_some():
            pass
    assert copied.derived == len(log)
    check(store, log, topic, first)
    settle(store)
    bench.close(store)
    store = bench.open(**SETTINGS)
    check(store, log, topic, first)
    bench.kill(store)
    store = bench.open(**SETTINGS)
    check(store, log, topic, first)
    bench.kill(store)
    for folder in ("consumequeue", "batchconsumequeue", "index"):
        shutil.rmtree(bench.root / folder, ignore_errors=True)
    store = bench.open(**SETTINGS)
    check(store, log, topic, first)
    # It is a store like any other.
    appended = store.put(bench.message(b"more", topic))
    assert appended.queue_offset == store.max_offset(topic, 0) - 1
    settle(store)
    bench.end()


@pytest.mark.parametrize("name", RECORDS)
def test_a_kill_at_any_moment(bench: Bench, name: str) -> None:
    log = log_of([RECORDS[name]])
    cuts = [place + 1 for place in good_places(log)[GOOD - 1 : GOOD + 2]]
    for cut in (*cuts, len(log)):
        store = bench.open(**SETTINGS)
        copied = store.follow()
        if copied.end < cut:
            copied.append([log[copied.end : cut]], cut - copied.end)
        while copied.derive_some():
            pass
        if cut % 2:
            settle(store)
        bench.kill(store)
    store = bench.open(**SETTINGS)
    check(store, log)
    bench.end()
