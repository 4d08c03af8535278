"""Light queues: a record with entries in several queues."""

from __future__ import annotations

import errno
import os

import pytest

from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.record import parse_record
from trimq.store.errors import MessageTooLarge, StoreError, TooManyLightQueues

ON = {"enable_lmq": True, "enable_multi_dispatch": True}
A, B = "%LMQ%a", "%LMQ%b"


def message(bench, names, topic="T", body=b"x", **more):
    properties = {"INNER_MULTI_DISPATCH": names, "WAIT": "true", **more.pop("held", {})}
    return bench.message(body, topic, properties=format_properties(properties), **more)


def bodies(store, queue, queue_id=0):
    """Of the records that the queue's entries point to."""
    found = []
    for offset in range(store.min_offset(queue, queue_id), store.max_offset(queue, queue_id)):
        entry = store.queue_entry(queue, queue_id, offset)
        found.append(parse_record(store.record_at(entry.physical_offset)).body)
    return found


def stored(store, topic="T", offset=0):
    entry = store.queue_entry(topic, 0, offset)
    return parse_properties(parse_record(store.record_at(entry.physical_offset)).properties)


def test_a_record_has_an_entry_in_each_queue_that_it_names(bench):
    store = bench.open(**ON)
    heard = []
    store.add_listener(heard.extend)
    store.put(message(bench, f"{A},{B}", body=b"1"))
    store.put(message(bench, A, body=b"2"))
    store.put(bench.message(b"3"))
    assert (bodies(store, A), bodies(store, B)) == ([b"1", b"2"], [b"1"])
    assert bodies(store, "T") == [b"1", b"2", b"3"]
    assert stored(store) == {
        "INNER_MULTI_DISPATCH": f"{A},{B}",
        "WAIT": "true",
        "INNER_MULTI_QUEUE_OFFSET": "0,0",
    }
    assert stored(store, offset=1)["INNER_MULTI_QUEUE_OFFSET"] == "1"
    assert [one.light_queues for one in heard] == [((A, 0), (B, 0)), ((A, 1),), ()]
    assert store.light_queues == 2
    found = store.read(A, 0, 0, 32, 1 << 20, None)
    assert (found.message_count, found.next_begin_offset) == (2, 2)


def test_tags_choose_in_a_light_queue_too(bench):
    store = bench.open(**ON)
    for tag in "xyx":
        store.put(message(bench, A, body=tag.encode(), held={"TAGS": tag}))
    found = store.read(A, 0, 0, 32, 1 << 20, frozenset({ord("y")}))
    assert found.message_count == 1


def test_staged_messages_of_one_write_follow_each_other(bench):
    store = bench.open(**ON)
    for number in range(5):
        store.stage(message(bench, A if number % 2 else f"{B},{A}", body=b"%d" % number))
    assert store.max_offset(A, 0) == 0
    store.write_staged()
    assert bodies(store, A) == [b"0", b"1", b"2", b"3", b"4"]
    assert bodies(store, B) == [b"0", b"2", b"4"]
    assert stored(store, offset=4)["INNER_MULTI_QUEUE_OFFSET"] == "2,4"


@pytest.mark.parametrize("settings", [{}, {"enable_lmq": True}, {"enable_multi_dispatch": True}])
def test_without_both_settings_the_property_is_only_kept(bench, settings):
    store = bench.open(**settings)
    store.put(message(bench, A))
    assert stored(store) == {"INNER_MULTI_DISPATCH": A, "WAIT": "true"}
    assert store.topics() == ["T"]


@pytest.mark.skipif(
    not hasattr(os, "pwritev"), reason="os.pwritev, which is replaced, is missing here"
)
def test_a_failed_write_takes_the_offsets_back(bench, monkeypatch):
    store = bench.open(**ON)
    store.put(message(bench, A, body=b"0"))
    store.stage(message(bench, f"{A},{B}", body=b"lost"))

    def failing(*_):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwritev", failing)
        with pytest.raises(StoreError):
            store.write_staged()
    store.put(message(bench, f"{A},{B}", body=b"1"))
    assert (bodies(store, A), bodies(store, B)) == ([b"0", b"1"], [b"1"])
    assert stored(store, offset=1)["INNER_MULTI_QUEUE_OFFSET"] == "1,0"


def test_a_queue_named_twice_has_one_entry(bench):
    store = bench.open(**ON)
    for number in range(2):
        store.put(message(bench, f"{A},{A}", body=b"%d" % number))
    assert bodies(store, A) == [b"0", b"1"]
    assert stored(store, offset=1)["INNER_MULTI_QUEUE_OFFSET"] == "1,1"


def test_a_light_queue_as_a_topic(bench):
    """Sent to directly, it is a queue like any other; naming itself adds nothing."""
    store = bench.open(**ON)
    store.put(message(bench, A, topic=A, body=b"0"))
    store.put(message(bench, A, topic="T", body=b"1"))
    store.put(bench.message(b"2", A))
    assert bodies(store, A) == [b"0", b"1", b"2"]
    for number, topic in enumerate((A, "T", A, "T", A), start=3):
        store.stage(message(bench, A, topic, body=b"%d" % number))
    store.write_staged()
    assert bodies(store, A) == [b"%d" % number for number in range(8)]
    bench.kill(store)
    assert bodies(bench.open(**ON), A) == [b"%d" % number for number in range(8)]


@pytest.mark.parametrize(
    "names",
    ["other", f"{A},other", f"other,{A}", f"{A},,{B}", "%LMQ%" + "x" * 251, "%LMQ%\0", ".."],
)
def test_a_message_that_names_something_else_is_in_no_light_queue(bench, names):
    store = bench.open(**ON)
    store.put(message(bench, names, held={"INNER_MULTI_QUEUE_OFFSET": "7,7"}))
    assert store.topics() == ["T"]
    assert "INNER_MULTI_QUEUE_OFFSET" not in stored(store)
    assert "INNER_MULTI_DISPATCH" in stored(store)


@pytest.mark.parametrize("name", ["%LMQ%a/b", "%LMQ%/../../evil", "%LMQ%../T"])
def test_names_with_slashes_make_no_file(bench, name):
    store = bench.open(**ON)
    for _ in range(2):
        store.put(message(bench, f"{name},{B}"))
    assert store.topics() == [B, "T"]
    assert stored(store, offset=1)["INNER_MULTI_QUEUE_OFFSET"] == "0,1"
    bench.close(store)
    assert sorted(path.name for path in (bench.root / "consumequeue").iterdir()) == [B, "T"]
    assert not (bench.root.parent / "evil").exists()


def test_dots_are_letters(bench):
    """As in the real broker: behind the prefix they lead nowhere."""
    store = bench.open(**ON)
    store.put(message(bench, "%LMQ%a..b"))
    bench.close(store)
    assert (bench.root / "consumequeue" / "%LMQ%a..b" / "0").is_dir()


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "rmq_sys_x", "SCHEDULE_TOPIC_XXXX"])
def test_topics_without_light_queues(bench, topic):
    store = bench.open(**ON)
    store.put(message(bench, A, topic))
    assert store.topics() == [topic]
    assert stored(store, topic)["WAIT"] == "true"


def test_half_messages_are_not_shown(bench):
    store = bench.open(**ON)
    half = "RMQ_SYS_TRANS_HALF_TOPIC"
    store.put(message(bench, A, half))
    store.put(message(bench, A, "T", sys_flag=int(SysFlag.PREPARED)))
    assert store.topics() == [half]
    store.put(message(bench, A, "T", body=b"committed", sys_flag=int(SysFlag.COMMIT)))
    assert bodies(store, A) == [b"committed"]


def test_batch_queues_and_batches_have_no_light_queues(bench):
    bench.batch_topics = frozenset({"B"})
    store = bench.open(**ON)
    store.put(message(bench, A, "B"))
    forged = {"INNER_MULTI_DISPATCH": A, "INNER_MULTI_QUEUE_OFFSET": "5"}
    items = [BatchItem(0, b"%d" % n, format_properties(forged)) for n in range(2)]
    store.stage_batch(bench.message(join_batch(items)))
    store.write_staged()
    assert store.topics() == ["B", "T"]
    for offset in range(2):
        assert stored(store, offset=offset) == {"INNER_MULTI_DISPATCH": A}


def test_quota(bench):
    store = bench.open(**ON, enable_lmq_quota=True, max_lmq_consume_queue_num=2)
    for name in (A, B):
        store.check_light(message(bench, name))
        store.put(message(bench, name))
    store.check_light(message(bench, f"{A},{B}"))
    with pytest.raises(TooManyLightQueues):
        store.check_light(message(bench, f"{A},%LMQ%c"))
    # What was taken before must not be lost, nor hold up others.
    store.put(message(bench, f"{A},%LMQ%c", body=b"late"))
    assert bodies(store, "T")[-1] == b"late"
    assert bodies(store, A) == [b"x"]
    assert store.delete_topic(B)
    store.put(message(bench, "%LMQ%c"))
    assert store.light_queues == 2


def test_without_the_switch_the_quota_is_none(bench):
    store = bench.open(**ON, max_lmq_consume_queue_num=1)
    store.put(message(bench, f"{A},{B}"))
    assert store.light_queues == 2


def test_the_whole_record_counts_as_the_body_does(bench):
    store = bench.open(**ON, max_message_size=300)
    store.check_light(bench.message(bytes(250)))
    with pytest.raises(MessageTooLarge):
        store.check_light(message(bench, A, body=bytes(250)))
    store.put(message(bench, A, body=bytes(250)))
    assert store.topics() == ["T"]


def test_a_deleted_queue_begins_again(bench):
    store = bench.open(**ON)
    store.put(message(bench, f"{A},{B}"))
    assert store.delete_topic(A)
    assert not (bench.root / "consumequeue" / A).exists()
    store.put(message(bench, f"{A},{B}", body=b"y"))
    assert (bodies(store, A), bodies(store, B)) == ([b"y"], [b"x", b"y"])
    assert stored(store, offset=1)["INNER_MULTI_QUEUE_OFFSET"] == "0,1"


def test_queues_are_opened_when_they_are_used(bench):
    store = bench.open(**ON)
    names = [f"%LMQ%{number}" for number in range(300)]
    for name in names:
        store.put(message(bench, name))
    bench.close(store)
    store = bench.open(**ON)
    assert store.light_queues == 300
    assert len(store._queues.not_loaded()) >= 299
    assert [store.max_offset(name, 0) for name in names] == [1] * 300
