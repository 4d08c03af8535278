"""Batch queues follow the log's new beginning, as the others do."""

from __future__ import annotations

import pytest

from tests.store import cleaning
from tests.store.upkeep.test_trimming import idle_deleted
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.queues.batch_queue import BatchConsumeQueue
from trimq.store.upkeep.trimming import QUEUES_PER_STEP, Trimming


@pytest.fixture
def batches(bench):
    """For topics A and B batch queues, with two entries in a file."""
    bench.batch_topics = frozenset({"A", "B"})
    bench.disk_use = 0.88
    return bench


def open_batches(bench):
    return bench.open(
        delete_when=(), delete_file_batch_max=1000, mapper_file_size_batch_consume_queue=46 * 2
    )


def batch_files(bench, topic, queue_id=0):
    folder = bench.root / "batchconsumequeue" / topic / str(queue_id)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_batch_queues_follow_too(batches):
    bench = batches
    store = open_batches(bench)
    for _ in range(5):
        put_inner_batch(bench, store)
    cleaning.fill(bench, store, 6, topic="Other")
    put_inner_batch(bench, store)
    cleaning.write_all(store)
    cleaning.clean(store)
    assert (store.min_offset("B", 0), store.max_offset("B", 0)) == (10, 12)
    assert cleaning.names(batch_files(bench, "B")) == [46 * 2 * 2]
    assert idle_deleted(store, "B") == []
    cleaning.fill(bench, store, 12, topic="Other")
    cleaning.clean(store)
    assert "B" in store.trimming.find_idle(store.topics(), store.min_physical_offset)
    assert idle_deleted(store, "B") == [0]
    assert not (bench.root / "batchconsumequeue" / "B").exists()
    assert store.topics() == ["Other"]
    assert (store.min_offset("B", 0), store.max_offset("B", 0)) == (-1, 0)
    # It is still a topic of that type, and its offsets start again.
    put_inner_batch(bench, store)
    assert (store.min_offset("B", 0), store.max_offset("B", 0)) == (0, 2)


def test_batch_queues_nobody_has_used_are_trimmed_too(batches):
    bench = batches
    store = open_batches(bench)
    for _ in range(3):
        put_inner_batch(bench, store, topic="A")
    put_inner_batch(bench, store)
    cleaning.fill(bench, store, 20, topic="Other")
    cleaning.write_all(store)
    bench.close(store)
    store = open_batches(bench)
    trimming = store.trimming
    for _ in cleaning.steps_of_round(store):
        pass
    assert trimming.begin()
    assert "A" in trimming.not_loaded()
    assert "A" in trimming.find_expired(trimming.not_loaded())
    for _ in cleaning.steps_of_trimming(store):
        pass
    # The one without a file to delete was not even loaded, and knows where it begins.
    assert trimming.not_loaded() == ["B"]
    assert cleaning.names(batch_files(bench, "A")) == [46 * 2]
    assert (store.min_offset("A", 0), store.max_offset("A", 0)) == (6, 6)
    assert (store.min_offset("B", 0), store.max_offset("B", 0)) == (2, 2)


def test_idle_batch_queues_nobody_has_used_are_found(batches):
    bench = batches
    store = open_batches(bench)
    put_inner_batch(bench, store)
    cleaning.fill(bench, store, 20, topic="Other")
    put_inner_batch(bench, store, topic="A")
    cleaning.write_all(store)
    bench.close(store)
    store = open_batches(bench)
    cleaning.clean(store)
    topics = store.trimming.find_idle(store.topics(), store.min_physical_offset)
    assert "B" in topics
    assert "A" not in topics
    assert idle_deleted(store, "B") == [0]
    bench.kill(store)
    store = open_batches(bench)
    assert (store.max_offset("B", 0), store.max_offset("A", 0)) == (0, 2)


def test_one_step_looks_at_a_few_batch_queues(batches, monkeypatch):
    bench = batches
    store = open_batches(bench)
    queues = 3 * QUEUES_PER_STEP + 1
    for _ in range(5):
        for queue_id in range(queues):
            put_inner_batch(bench, store, queue_id=queue_id)
    cleaning.write_all(store)
    for _ in cleaning.steps_of_round(store):
        pass
    seen = []
    trim = Trimming._trim

    def watched(trimming, queue):
        assert isinstance(queue, BatchConsumeQueue)
        seen.append(queue.queue_id)
        return trim(trimming, queue)

    monkeypatch.setattr(Trimming, "_trim", watched)
    before = count_files(bench, queues)
    assert before == 3 * queues
    most_queues = most_files = steps = 0
    for step in cleaning.steps_of_trimming(store):
        most_queues = max(most_queues, len(seen))
        left = count_files(bench, queues)
        most_files = max(most_files, before - left)
        before = left
        steps += step == "a step"
        seen.clear()
    assert most_files == 1
    assert 0 < most_queues <= QUEUES_PER_STEP
    # Every queue keeps its last file; each deletion had a step, and each queue one to end with.
    assert before == queues
    assert steps == 3 * queues
    # Nothing is left for the end.
    assert seen == []


def put_inner_batch(bench, store, topic="B", queue_id=0):
    """Two messages in one record."""
    body = join_batch([BatchItem(0, bytes(20), b"")] * 2)
    flag = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
    properties = b"UNIQ_KEY\x01u\x02INNER_NUM\x012\x02"
    message = bench.message(
        body, topic=topic, queue_id=queue_id, properties=properties, sys_flag=flag
    )
    store.put(message)
    store.flush()


def count_files(bench, queues):
    return sum(len(batch_files(bench, "B", queue_id)) for queue_id in range(queues))
