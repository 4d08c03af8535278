"""A topic's queues are of one kind; with a new life it may get another one."""

from __future__ import annotations

import shutil

import pytest

from tests.store.queues.batches import (
    TOPIC,
    put,
    walk,
)
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.messages.message import Dispatched
from trimq.store.queues.batch_queue import BatchConsumeQueue
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.plain.consume_queue import ConsumeQueue
from trimq.store.queues.plain.extended_queue import ExtendedConsumeQueue
from trimq.store.queues.plain.extension import QueueExtension


def test_a_topic_made_again_begins_at_zero(batches):
    store = batches.open()
    put(batches, store, *[2] * 7)
    while store.write_derived():
        pass
    assert store.delete_topic(TOPIC)
    assert not (batches.root / "batchconsumequeue" / TOPIC).exists()
    assert not store.delete_topic(TOPIC)
    store.declare_queue_type(TOPIC, "BatchCQ")
    assert put(batches, store, 3, 2)[1].queue_offset == 3
    batches.kill(store)
    store = batches.open()
    assert [offset for offset, _ in walk(store)] == [0, 3]


def test_a_deleted_topic_may_come_back_with_ordinary_queues(batches):
    store = batches.open()
    put(batches, store, 3)
    store.delete_topic(TOPIC)
    assert store.put(batches.message(b"", topic=TOPIC)).queue_offset == 0
    assert store.min_offset(TOPIC, 0) == 0
    batches.batch_topics = frozenset()
    batches.close(store)
    assert [file.name for file in batches.queue_files(TOPIC, 0)] == [f"{0:020d}"]
    assert not (batches.root / "batchconsumequeue" / TOPIC).exists()
    assert batches.bodies(batches.open(), TOPIC) == [b""]


def test_two_types_of_queues_for_one_topic_are_refused(batches):
    batches.batch_topics = frozenset()
    store = batches.open()
    store.put(batches.message(b"", topic=TOPIC))
    batches.close(store)
    batches.batch_topics = frozenset([TOPIC])
    with pytest.raises(StoreError, match="Remove that folder"):
        batches.open()
    shutil.rmtree(batches.root / "consumequeue")
    store = batches.open()
    assert [offset for offset, _ in walk(store)] == [0]


def test_another_file_size_is_refused_by_its_setting(batches):
    store = batches.open()
    put(batches, store, 3)
    batches.close(store)
    with pytest.raises(StoreDamaged, match="mapperFileSizeBatchConsumeQueue"):
        batches.open(mapper_file_size_batch_consume_queue=46).max_offset(TOPIC, 0)


# --- what every kind does


def plain(folder):
    return ConsumeQueue("T", 0, str(folder / "0"), 20 * 4, OpenFiles(8)), 1


def extended(folder):
    open_files = OpenFiles(8)
    extension = QueueExtension(str(folder / "x"), 64, open_files)
    return ExtendedConsumeQueue("T", 0, str(folder / "0"), 20 * 4, open_files, extension, True), 1


def batch(folder):
    return BatchConsumeQueue("T", 0, str(folder / "0"), 46 * 4, OpenFiles(8)), 3


def append(queue, count, messages):
    """`count` records of this many messages each."""
    for _ in range(count):
        number = queue.max_offset // messages
        record = Dispatched("T", 0, queue.max_offset, number * 100, 100, 7, 1, 0, b"", messages)
        queue.append([record], 0, 1)
    queue.next_offset = queue.max_offset


@pytest.mark.parametrize("make", [plain, extended, batch])
@pytest.mark.parametrize("written", [0, 3, 9])
@pytest.mark.parametrize("kept", [0, 2, 4, 6, 9])
def test_a_queue_can_be_cut_anywhere(tmp_path, make, written, kept):
    queue, messages = make(tmp_path)
    queue.prepare()
    append(queue, written, messages)
    queue.write_out()
    append(queue, 9 - written, messages)
    queue.truncate(kept * messages)
    assert queue.max_offset == queue.next_offset == kept * messages
    assert queue.entry(kept * messages) is None
    append(queue, 3, messages)
    queue.write_out()
    places = [queue.entry(n * messages).physical_offset for n in range(kept + 3)]
    assert places == [n * 100 for n in range(kept + 3)]
    assert queue.tags_code(queue.entry((kept + 2) * messages).tags_code) == 7
    again, _ = make(tmp_path)
    again.load(Believed(0, 10_000))
    assert (again.min_offset, again.max_offset) == (0, (kept + 3) * messages)


def test_a_record_goes_whole(tmp_path):
    queue, _ = batch(tmp_path)
    append(queue, 5, 3)
    queue.truncate(7)
    assert queue.max_offset == 6


def test_queues_of_the_previous_kind_are_no_longer_found(batches):
    """Their folder is refused at the next start."""
    batches.batch_topics = frozenset()
    store = batches.open()
    store.put(batches.message(b"", topic=TOPIC))
    store.declare_queue_type(TOPIC, "BatchCQ")
    assert (store.min_offset(TOPIC, 0), store.max_offset(TOPIC, 0)) == (-1, 0)
    assert put(batches, store, 3, 2)[1].queue_offset == 3
    batches.close(store)
    with pytest.raises(StoreError, match="Remove that folder"):
        batches.open()
