"""Staging and writing: offsets, file ends, batches, limits, transactions, delays."""

from __future__ import annotations

import struct

import pytest

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.record import parse_record, record_size
from trimq.store.errors import MessageTooLarge, PropertiesTooLong, StoreNotWritable
from trimq.store.messages.delay_levels import DELAY_LEVELS, parse_delay_levels
from trimq.store.messages.message import Dispatched


def test_nothing_is_visible_before_it_is_written(bench):
    store = bench.open()
    appended = store.stage(bench.message(b"a"))
    assert (appended.queue_offset, appended.physical_offset) == (0, 0)
    assert store.max_offset("T", 0) == 0
    assert store.max_physical_offset == 0
    store.write_staged()
    assert store.max_offset("T", 0) == 1
    assert store.max_physical_offset == appended.end == appended.size


def test_one_write_for_all_staged_messages(bench, monkeypatch):
    import os

    calls = []
    store = bench.open()
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda *a: calls.append(a[2]) or real(*a))
    for number in range(5):
        store.stage(bench.message(b"%d" % number, queue_id=number % 2))
    store.write_staged()
    assert calls == [0]
    assert bench.bodies(store, queue_id=0) == [b"0", b"2", b"4"]
    assert bench.bodies(store, queue_id=1) == [b"1", b"3"]


def test_each_message_has_the_time_at_which_it_was_staged(bench):
    """Not that of the first one of its write: what a timer lets pass now would be early."""
    store = bench.open()
    first, second = (store.stage(bench.message(b"%d" % number)) for number in range(2))
    assert first.store_timestamp < second.store_timestamp
    store.write_staged()


def test_writing_nothing_does_nothing(bench):
    store = bench.open()
    store.write_staged()
    assert store.max_physical_offset == 0
    assert not bench.commit_log_files()


def test_record_fields(bench):
    store = bench.open()
    message = bench.message(
        b"body",
        queue_id=3,
        tag="TagA",
        flag=7,
        sys_flag=SysFlag.BORN_HOST_V6,
        born_timestamp=11,
        born_host=bytes(range(20)),
        store_host=b"\x7f\0\0\1\0\0\x2a\x9f",
        reconsume_times=2,
    )
    appended = store.put(message)
    record = parse_record(store.record_at(appended.physical_offset))
    assert (record.topic, record.queue_id, record.flag) == ("T", 3, 7)
    assert (record.born_host, record.store_host) == (message.born_host, message.store_host)
    assert (record.born_timestamp, record.store_timestamp) == (11, appended.store_timestamp)
    assert (record.reconsume_times, record.properties) == (2, b"TAGS\x01TagA\x02")
    assert store.queue_entry("T", 3, 0).tags_code == string_hash("TagA") == 2598919


def test_a_file_ends_in_a_blank_record(bench):
    store = bench.open()
    first = store.put(bench.message(bytes(500)))
    second = store.put(bench.message(bytes(500)))
    assert second.physical_offset == 1024
    assert [file.name for file in bench.commit_log_files()] == ["0" * 20, f"{1024:020d}"]
    data = bench.commit_log_files()[0].read_bytes()
    assert len(data) == 1024
    assert struct.unpack_from(">iI", data, first.end) == (1024 - first.end, 0xCBD43194)
    assert bench.bodies(store) == [bytes(500), bytes(500)]


def test_a_record_may_fill_a_file_up_to_the_blank(bench):
    store = bench.open()
    body = bytes(1024 - 8 - record_size(0, 1, 0))
    assert store.put(bench.message(body)).end == 1016
    assert store.put(bench.message(body)).physical_offset == 1024
    with pytest.raises(MessageTooLarge):
        store.put(bench.message(body + b"x"))
    assert bench.bodies(store) == [body, body]


def test_staged_messages_may_span_files(bench):
    store = bench.open()
    for _ in range(20):
        store.stage(bench.message(bytes(300)))
    store.write_staged()
    assert len(bench.bodies(store)) == 20
    assert len(bench.commit_log_files()) == 10


def test_limits_are_those_of_the_encoder(bench):
    store = bench.open(mapped_file_size_commit_log=1 << 20, max_message_size=1000)
    with pytest.raises(MessageTooLarge):
        store.stage(bench.message(bytes(1001)))
    store.put(bench.message(bytes(1000), properties=b"k\x01" + b"v" * 32764 + b"\x02"[:1]))
    with pytest.raises(PropertiesTooLong):
        store.stage(bench.message(b"", properties=b"k\x01" + b"v" * 32766))
    assert store.max_offset("T", 0) == 1


def test_batch_items_get_consecutive_offsets_in_one_file(bench):
    store = bench.open()
    store.put(bench.message(bytes(300)))
    items = [BatchItem(n, b"%d" % n * 100, b"TAGS\x01T%d\x02" % n) for n in range(4)]
    appended = store.stage_batch(bench.message(join_batch(items)))
    store.write_staged()
    assert (appended.queue_offset, appended.physical_offset) == (1, 1024)
    records = bench.records(store)[1:]
    assert [r.queue_offset for r in records] == [1, 2, 3, 4]
    assert [r.total_size for r in records] == appended.sizes
    assert appended.end == store.max_physical_offset == 1024 + sum(appended.sizes)
    assert [(r.flag, r.body, r.properties) for r in records] == [
        (item.flag, item.body, item.properties) for item in items
    ]
    with pytest.raises(MessageTooLarge):
        store.stage_batch(bench.message(join_batch([BatchItem(0, bytes(600), b"")] * 2)))
    assert store.put(bench.message(b"next")).queue_offset == 5


@pytest.mark.parametrize("kind", [SysFlag.PREPARED, SysFlag.ROLLBACK])
def test_prepared_and_rolled_back_messages_have_no_entry(bench, kind):
    store = bench.open()
    appended = store.put(bench.message(b"half", sys_flag=kind))
    assert appended.queue_offset == 0
    assert store.max_offset("T", 0) == 0
    committed = store.put(
        bench.message(b"whole", sys_flag=SysFlag.COMMIT, prepared_transaction_offset=7)
    )
    assert committed.queue_offset == 0
    assert [r.prepared_transaction_offset for r in bench.records(store)] == [7]


@pytest.mark.parametrize(("level", "used"), [(1, 1), (3, 3), (18, 18), (40, 18)])
def test_delayed_messages_carry_their_deliver_time(bench, level, used):
    store = bench.open()
    appended = store.put(
        bench.message(b"", topic="SCHEDULE_TOPIC_XXXX", properties=b"DELAY\x01%d\x02" % level)
    )
    entry = store.queue_entry("SCHEDULE_TOPIC_XXXX", 0, 0)
    assert entry.tags_code == appended.store_timestamp + DELAY_LEVELS[used - 1]


def test_delay_levels_are_read_as_configured():
    text = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    assert parse_delay_levels(text) == DELAY_LEVELS


def test_a_delay_elsewhere_is_only_a_property(bench):
    store = bench.open()
    store.put(bench.message(b"", properties=b"DELAY\x013\x02TAGS\x01a\x02"))
    assert store.queue_entry("T", 0, 0).tags_code == string_hash("a")


def test_listeners_get_every_record_after_it_is_readable(bench):
    store = bench.open()
    heard: list[tuple[Dispatched, int]] = []
    store.add_listener(
        lambda messages: heard.extend((d, store.max_offset(d.topic, d.queue_id)) for d in messages)
    )
    store.stage(bench.message(b"a", tag="x"))
    appended = store.stage(bench.message(b"b"))
    assert not heard
    store.write_staged()
    assert [(d.queue_offset, d.tags_code, visible) for d, visible in heard] == [
        (0, string_hash("x"), 2),
        (1, 0, 2),
    ]
    assert heard[1][0].physical_offset == appended.physical_offset


def test_properties_never_end_in_a_zero_byte(bench):
    store = bench.open()
    store.put(bench.message(b"", properties=b"k\x01v\0"))
    assert bench.records(store)[0].properties == b"k\x01v\0\x02"


@pytest.mark.parametrize(
    "wrong", [{"born_host": b"short"}, {"queue_id": 1 << 31}, {"born_timestamp": 1 << 63}]
)
def test_what_cannot_be_encoded_leaves_no_trace(bench, wrong):
    store = bench.open()
    store.stage(bench.message(b"a"))
    with pytest.raises((CodecError, struct.error)):
        store.stage(bench.message(b"b", **wrong))
    with pytest.raises((CodecError, struct.error)):
        store.stage_batch(bench.message(join_batch([BatchItem(0, b"c", b"")]), **wrong))
    store.stage(bench.message(b"d"))
    store.write_staged()
    assert bench.bodies(store) == [b"a", b"d"]
    bench.kill(store)
    assert bench.bodies(bench.open()) == [b"a", b"d"]


def test_a_closed_store_takes_nothing(bench):
    store = bench.open()
    bench.close(store)
    assert not store.writable
    with pytest.raises(StoreNotWritable):
        store.put(bench.message(b""))
