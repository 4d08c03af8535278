"""A topic's folders are removed beside the event loop; from the first moment on nobody finds its queues."""

import os
import threading

import pytest

from trimq.store.errors import StoreError
from trimq.store.queues.files.removal import run_all

QUEUES = 3


def folders(bench, topic="T"):
    return sorted((bench.root / "consumequeue").glob(f"{topic}*"))


def filled(bench, topic="T", queues=QUEUES):
    store = bench.open()
    for queue_id in range(queues):
        store.put(bench.message(b"old", topic=topic, queue_id=queue_id))
    while store.write_derived():
        pass
    return store


class Strange:
    """Something in a queue's folder that is none of its files: it cannot be removed as long as that is there."""

    def __init__(self, bench, topic="T"):
        self.path = bench.root / "consumequeue" / topic / "0" / "strange"
        self.path.mkdir()

    def goes(self):
        self.path.rmdir()


def test_queues_are_gone_before_their_folders(bench):
    store = filled(bench)
    removal = store.deletion.take_out("T")
    assert not store.queues("T")
    assert store.max_offset("T", 0) == 0
    assert "T" not in store.topic_names()
    assert folders(bench)
    removal.run()
    assert not folders(bench)
    store.deletion.settle("T", removal)
    assert store.deletion.take_out("T") is None


@pytest.mark.parametrize("has_run", [False, True])
def test_a_topic_made_anew_meanwhile_begins_at_0(bench, has_run):
    store = filled(bench)
    removal = store.deletion.take_out("T")
    if has_run:
        removal.run()
    store.put(bench.message(b"new", queue_id=1))
    while store.write_derived():
        pass
    # The thread comes late.
    removal.run()
    store.deletion.settle("T", removal)
    assert [one.body for one in bench.records(store, queue_id=1)] == [b"new"]
    store.close()
    store = bench.open()
    assert store.queues("T") == [1]
    assert [one.body for one in bench.records(store, queue_id=1)] == [b"new"]


def test_what_a_thread_is_writing_does_not_come_back(bench):
    store = bench.open()
    store.put(bench.message(b"x"))
    while (writing := store.take_derived()).is_empty:
        store.settle_derived(writing)
    removal = store.deletion.take_out("T")
    # Whoever writes is at the disk: the removal waits for him.
    writing._lock.acquire()
    thread = threading.Thread(target=removal.run)
    thread.start()
    thread.join(0.02)
    assert thread.is_alive()
    (bench.root / "consumequeue" / "T" / "0").mkdir(parents=True)
    writing._lock.release()
    thread.join()
    writing.run()
    store.settle_derived(writing)
    store.deletion.settle("T", removal)
    assert not folders(bench)


def test_several_at_a_time(bench):
    store = bench.open()
    for topic in ("T1", "T2", "T3"):
        store.put(bench.message(b"x", topic=topic))
    while store.write_derived():
        pass
    removals = {topic: store.deletion.take_out(topic) for topic in ("T1", "T2")}
    run_all(list(removals.values()))
    for topic, removal in removals.items():
        store.deletion.settle(topic, removal)
    assert [one.name for one in folders(bench)] == ["T3"]


def test_what_could_not_be_removed_can_be_deleted_again(bench):
    store = filled(bench)
    strange = Strange(bench)
    with pytest.raises(StoreError, match="deleting the queues of T"):
        store.delete_topic("T")
    assert "T" in store.topic_names()
    assert store.max_offset("T", 0) == 0
    with pytest.raises(StoreError):
        store.delete_topic("T")
    strange.goes()
    assert store.delete_topic("T")
    assert not folders(bench)
    assert not store.delete_topic("T")


def test_what_could_not_be_removed_takes_no_message_until_it_is(bench):
    store = filled(bench)
    strange = Strange(bench)
    with pytest.raises(StoreError):
        store.delete_topic("T")
    with pytest.raises(StoreError, match="deleting the queues of T"):
        store.put(bench.message(b"new"))
    strange.goes()
    store.put(bench.message(b"new"))
    assert [one.body for one in bench.records(store)] == [b"new"]
    assert store.queues("T") == [0]


def test_a_light_queue_that_could_not_be_removed_is_listed(bench):
    store = filled(bench, "%LMQ%x", 1)
    strange = Strange(bench, "%LMQ%x")
    with pytest.raises(StoreError):
        store.delete_topic("%LMQ%x")
    assert "%LMQ%x" in store.topic_names()
    strange.goes()
    assert store.delete_topic("%LMQ%x")


def test_a_topic_of_many_queues_goes_in_pieces(bench):
    store = filled(bench, queues=200)
    pieces = 0
    for beside in (steps := store.delete_in_steps("T")):
        if beside is not None:
            pieces += 1
            # Those that are left are still there.
            assert len(store.queues("T")) <= 200 - 64 * min(pieces, 2)
            beside()
    assert steps.gi_frame is None
    assert pieces == 4
    assert not folders(bench)


def test_messages_that_come_while_it_goes_go_too(bench):
    store = filled(bench)
    for beside in store.delete_in_steps("T"):
        if beside is not None:
            beside()
            store.put(bench.message(b"late"))
    assert not store.queues("T")
    assert not folders(bench)


def test_a_store_that_closes_removes_what_no_thread_has(bench):
    store = filled(bench)
    store.deletion.take_out("T")
    store.close()
    assert not folders(bench)


def test_a_folder_with_something_of_others_stays_what_it_is(bench):
    store = filled(bench)
    other = bench.root / "consumequeue" / "T" / "notes.txt"
    other.write_text("mine")
    assert store.delete_topic("T")
    assert os.listdir(other.parent) == ["notes.txt"]


def test_what_could_not_be_removed_does_not_keep_a_store_from_closing(bench):
    store = filled(bench, queues=1)
    strange = Strange(bench)
    with pytest.raises(StoreError):
        store.delete_topic("T")
    store.close()
    strange.goes()
    store = bench.open()
    # Its file went before: what is left is a queue without a message.
    assert store.queues("T") == [0]
    assert store.delete_topic("T")
    assert not folders(bench)


def test_a_queue_that_has_left_is_made_anew_whatever_becomes_of_the_others(bench):
    """The deletion of a topic of many queues ends in between: it can be repeated, and messages come until then."""
    store = bench.open()
    for queue_id in 2 * [*range(200)]:
        store.put(bench.message(b"old", queue_id=queue_id))
    while store.write_derived():
        pass
    steps = store.deletion.in_steps("T")
    next(steps)
    steps.close()
    gone = next(one for one in range(200) if one not in store.queues("T"))
    store.put(bench.message(b"new", queue_id=gone))
    store.close()
    assert [one.body for one in bench.records(bench.open(), queue_id=gone)] == [b"new"]
