"""`store.inspecting` on golden files of the real broker, on our own stores and on damaged ones."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.inspecting.looking import VECTORS, fill, look
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.pop import AckMsg, PopCheckPoint
from trimq.codec.layouts.record import RECORD
from trimq.codec.records.record import MAGIC_BLANK, encode_blank, parse_record
from trimq.store.inspecting.items import Reason, Unreadable
from trimq.store.inspecting.kinds import Kind, recognise

# --- commit log


def test_the_real_brokers_records_are_shown_with_every_field():
    path = VECTORS / "commitlog-head.bin"
    items, [end] = look(path, Kind.COMMIT_LOG)
    data = path.read_bytes()
    position = 0
    for item in items:
        declared = RECORD.parse(data[position:])
        assert (item.name, item.position, item.number) == ("record", position, position)
        assert item.fields["crc_holds"]
        for name, value in item.fields.items():
            if name in declared and name not in ("born_host", "store_host", "properties"):
                assert value == declared[name], name
        position += declared.total_size
    assert items[0].fields["properties"]["KEYS"] == "key1 key2"
    assert items[0].fields["born_host"].startswith("127.0.0.1:")
    assert items[0].fields["message_id"].endswith("0" * 16)
    assert (end.reason, end.position, position) == (Reason.END_OF_FILE, len(data), len(data))


def test_a_log_of_many_files_reads_as_one(bench):
    fill(bench)
    items, [end] = look(bench.root / "commitlog")
    records = [item for item in items if item.name == "record"]
    assert [item.fields["body"] for item in records] == [b"body %d" % n for n in range(12)]
    blanks = [item for item in items if item.name == "blank"]
    assert len(blanks) == len(bench.commit_log_files()) - 1 > 0
    assert all(item.fields["magic"] == MAGIC_BLANK for item in blanks)
    assert (end.reason, end.file) == (Reason.ZEROS, bench.commit_log_files()[-1])
    last = records[-1]
    assert end.position == last.position + last.fields["total_size"]


def test_records_are_chosen_by_topic_queue_offset_key_and_place(bench):
    fill(bench)
    log = bench.root / "commitlog"

    def bodies(**chosen: Any) -> list[int]:
        items, _ = look(log, **chosen)
        return [int(item.fields["body"].split()[1]) for item in items if item.name == "record"]

    assert bodies(topic="T1") == [1, 3, 5, 7, 9, 11]
    assert bodies(topic="T1", queue_id=2) == [5, 11]
    assert bodies(topic="T1", queue_id=2, offsets=(1, 9)) == [11]
    assert bodies(key="k7") == [7]
    assert bodies(key="U7") == [7]
    assert bodies(key="all", topic="T0") == [0, 2, 4, 6, 8, 10]
    assert bodies(key="k") == []
    everything, _ = look(log)
    places = [item.number for item in everything if item.name == "record"]
    assert bodies(physical_offset=places[8]) == [8]
    assert bodies(start=places[8]) == [8, 9, 10, 11]
    assert bodies(start=places[8] - 1) == [8, 9, 10, 11]
    assert bodies(start=places[3] + 1, end=places[8]) == [4, 5, 6, 7, 8]
    with pytest.raises(Unreadable, match=f"the next one is at {places[4]}"):
        look(log, physical_offset=places[3] + 1)
    with pytest.raises(Unreadable, match="ends before"):
        look(log, physical_offset=1 << 40)


def test_a_file_copied_under_another_name_keeps_its_offsets(bench, tmp_path):
    fill(bench)
    copy = tmp_path / "copy.bin"
    copy.write_bytes(bench.commit_log_files()[1].read_bytes())
    with pytest.raises(Unreadable, match="give --type: commitlog, consumequeue"):
        look(copy)
    items, _ = look(copy, Kind.COMMIT_LOG)
    assert items[0].number == items[0].fields["physical_offset"] == 1024
    assert look(copy, Kind.COMMIT_LOG, start=1025)[0][0].number == items[1].number


@given(cut=st.integers(0, 2000))
def test_it_stops_exactly_where_the_log_is_torn(tmp_path_factory, cut):
    data = (VECTORS / "commitlog-head.bin").read_bytes()
    path = tmp_path_factory.mktemp("torn") / "x"
    path.write_bytes(data[:cut].ljust(4096, b"\0"))
    items, [end] = look(path, Kind.COMMIT_LOG)
    position = 0
    while position + (size := parse_record(data, position).total_size) <= cut:
        position += size
    whole = [item for item in items if item.fields["crc_holds"]]
    # Zeros may stand in for the end of a record's properties.
    if end.position == position:
        assert len(items) == len(whole)
        assert end.reason is (Reason.ZEROS if position == cut else Reason.DAMAGE)
    else:
        assert data[cut : end.position].strip(b"\x02") or not whole[-1].fields["crc_holds"]


def test_damage_is_named_and_the_next_record_too(tmp_path):
    data = bytearray((VECTORS / "commitlog-head.bin").read_bytes())
    first = parse_record(data).total_size
    second = parse_record(data, first).total_size
    path = tmp_path / f"{0:020d}"
    data[first : first + 8] = b"whatever"
    path.write_bytes(data)
    items, [end] = look(path, Kind.COMMIT_LOG)
    assert len(items) == 1
    assert (end.reason, end.position, end.resume) == (Reason.DAMAGE, first, first + second)
    assert str(end.resume) in end.text
    assert look(path, Kind.COMMIT_LOG, start=first)[0][0].number == end.resume


def test_zeros_in_the_middle_are_not_the_end(tmp_path):
    data = bytearray((VECTORS / "commitlog-head.bin").read_bytes())
    first = parse_record(data).total_size
    second = parse_record(data, first).total_size
    data[first : first + second] = bytes(second)
    path = tmp_path / f"{0:020d}"
    path.write_bytes(data)
    _, [end] = look(path, Kind.COMMIT_LOG)
    assert (end.reason, end.resume) == (Reason.DAMAGE, first + second)


def test_a_wrong_crc_is_shown_and_does_not_stop_it(tmp_path):
    data = bytearray((VECTORS / "commitlog-head.bin").read_bytes())
    data[data.index(b"hello")] ^= 1
    path = tmp_path / f"{0:020d}"
    path.write_bytes(data)
    items, _ = look(path, Kind.COMMIT_LOG)
    assert [item.fields["crc_holds"] for item in items[:3]] == [False, True, True]


def test_a_blank_of_the_wrong_size_is_damage(tmp_path):
    path = tmp_path / f"{0:020d}"
    path.write_bytes(encode_blank(100).ljust(99, b"\0"))
    _, [end] = look(path, Kind.COMMIT_LOG)
    assert end.reason is Reason.DAMAGE
    assert "99 are left" in end.text


def test_holes_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / f"{0:020d}"
    data = (VECTORS / "commitlog-head.bin").read_bytes()
    path.write_bytes(data)
    os.truncate(path, 8 << 30)
    read = 0
    real = os.pread

    def counting(fd: int, size: int, position: int) -> bytes:
        nonlocal read
        found = real(fd, size, position)
        read += len(found)
        return found

    monkeypatch.setattr(os, "pread", counting)
    _, [end] = look(path, Kind.COMMIT_LOG)
    assert (end.reason, end.position) == (Reason.ZEROS, len(data))
    assert read < 16 << 20


# --- what a path is


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"s/commitlog/{0:020d}", Kind.COMMIT_LOG),
        ("s/commitlog/", Kind.COMMIT_LOG),
        (f"s/consumequeue/T/0/{0:020d}", Kind.CONSUME_QUEUE),
        ("s/consumequeue/index/0/", Kind.CONSUME_QUEUE),
        ("s/consumequeue/T/", Kind.CONSUME_QUEUE),
        (f"s/batchconsumequeue/T/0/{0:020d}", Kind.BATCH_CONSUME_QUEUE),
        ("s/consumequeue_ext/T/0/", Kind.CONSUME_QUEUE_EXT),
        (f"s/compaction/compactionLog/T/0/{0:020d}", Kind.COMMIT_LOG),
        ("s/compaction/compactionCq/T/", Kind.BATCH_CONSUME_QUEUE),
        ("s/compaction/position-checkpoint", Kind.CONFIG),
        ("s/index/20261121114757058", Kind.INDEX),
        ("s/timerlog/", Kind.TIMER_LOG),
        ("s/timerwheel", Kind.TIMER_WHEEL),
        ("s/config/timercheck", Kind.TIMER_CHECKPOINT),
        ("s/config/timermetrics", Kind.CONFIG),
        ("s/config/topics.json.bak", Kind.CONFIG),
        ("s/config/", Kind.CONFIG),
        ("s/checkpoint", Kind.CHECKPOINT),
        ("s/abort", Kind.ABORT),
        ("s/lock", Kind.LOCK),
    ],
)
def test_kinds_are_recognised_by_their_paths(tmp_path, path, kind):
    made = tmp_path / path
    if path.endswith("/"):
        made.mkdir(parents=True)
    else:
        made.parent.mkdir(parents=True)
        made.touch()
    assert recognise(made) is kind


def test_what_is_not_a_file_of_a_store(bench, tmp_path):
    fill(bench)
    with pytest.raises(Unreadable, match="no such file"):
        look(tmp_path / "nothing")
    with pytest.raises(Unreadable, match="a whole store"):
        look(bench.root)
    rocks = tmp_path / "consumequeue"
    rocks.mkdir()
    (rocks / "CURRENT").write_text("MANIFEST-000004\n")
    with pytest.raises(Unreadable, match="RocksDB"):
        look(rocks)
    with pytest.raises(Unreadable, match="--key means nothing for a checkpoint"):
        look(bench.root / "checkpoint", key="k")


def test_files_are_opened_for_reading_only(bench, monkeypatch):
    fill(bench)
    real = os.open

    def only_reading(path: Any, flags: int, *more: Any, **others: Any) -> int:
        assert flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0
        return real(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", only_reading)
    for path in ("commitlog", "consumequeue", "checkpoint", "lock"):
        assert look(bench.root / path)[0]


def test_a_store_in_use_can_be_inspected(bench):
    store = bench.open()
    store.put(bench.message(b"one"))
    assert len(look(bench.root / "commitlog")[0]) == 1
    store.put(bench.message(b"two"))
    assert [item.fields["body"] for item in look(bench.root / "commitlog")[0]] == [b"one", b"two"]


def test_records_of_light_queues_are_found_by_their_names(bench):
    store = bench.open(enable_lmq=True, enable_multi_dispatch=True)
    for number, names in enumerate(("%LMQ%a", "%LMQ%a,%LMQ%b", "%LMQ%b")):
        properties = f"INNER_MULTI_DISPATCH\x01{names}\x02".encode()
        store.put(bench.message(b"%d" % number, properties=properties))
    bench.close(store)
    log = bench.root / "commitlog"
    items, _ = look(log, topic="%LMQ%b")
    assert [item.fields["body"] for item in items] == [b"1", b"2"]
    assert items[0].fields["light_queues"] == {"%LMQ%a": 1, "%LMQ%b": 0}
    items, _ = look(log, topic="%LMQ%b", queue_id=0, offsets=(1, 5))
    assert [item.fields["body"] for item in items] == [b"2"]
    assert look(log, topic="%LMQ%b", queue_id=1)[0] == []
    items, _ = look(bench.root / "consumequeue" / "%LMQ%a")
    assert [item.number for item in items] == [0, 1]


def test_notes_of_pop_are_read(bench):
    point = PopCheckPoint(c="G", t="T", q=1, so=5, d=[0, 2], n=2, pt=1_000, it=500, bm=2, bn="b")
    acks = [AckMsg(c="G", t="T", q=1, so=5, ao=5, pt=1_000), AckMsg(aol=[5, 7], so=5, pt=1_000)]
    revive = "rmq_sys_REVIVE_LOG_DefaultCluster"
    records = [
        (revive, "TAGS\x01ck\x02", point),
        (revive, "TAGS\x01ack\x02", acks[0]),
        (revive, "TAGS\x01bAck\x02", acks[1]),
        ("rmq_sys_wheel_timer", f"TAGS\x01ck\x02REAL_TOPIC\x01{revive}\x02", point),
        ("rmq_sys_wheel_timer", "TAGS\x01ck\x02REAL_TOPIC\x01other\x02", point),
    ]
    store = bench.open()
    for topic, properties, body in records:
        store.put(bench.message(encode_body(body), topic, 0, properties=properties.encode()))
    store.put(bench.message(b"{", revive, 0, properties=b"TAGS\x01ck\x02"))
    store.put(bench.message(b"", "T", 0, properties=b"TAGS\x01ck\x02"))
    bench.close(store)
    items, _ = look(bench.root / "commitlog")
    notes = [item.fields.get("pop") for item in items if item.name == "record"]
    first, ack, batch, waiting, *others = notes
    assert (first["offsets"], first["acknowledged"], first["hidden_until"]) == ([5, 7], [7], 1_500)
    assert (ack["kind"], ack["offsets"], ack["first_offset"]) == ("acknowledgement", [5], 5)
    assert batch["offsets"] == [5, 7]
    assert waiting == first
    assert others == [None, None, None]
