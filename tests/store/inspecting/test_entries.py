"""`store.inspecting` on queues, index, timer files, checkpoints and tables."""

from __future__ import annotations

import json

import pytest

from tests.store.inspecting.looking import VECTORS, fill, look
from trimq.codec.layouts.index import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY, QUEUE_ENTRY, QUEUE_EXT_UNIT
from trimq.codec.layouts.timer import TIMER_CHECKPOINT, TIMER_RECORD, TIMER_SLOT
from trimq.codec.records.record import MAGIC_BLANK, parse_record
from trimq.store.inspecting.items import Reason, Unreadable
from trimq.store.inspecting.kinds import Kind

# --- queues


def test_the_real_brokers_queue_entries():
    path = VECTORS / "consumequeue.bin"
    items, [end] = look(path, Kind.CONSUME_QUEUE)
    declared = [QUEUE_ENTRY.parse(path.read_bytes()[at:]) for at in range(0, 80, 20)]
    for number, (item, entry) in enumerate(zip(items, declared, strict=True)):
        assert item.number == number
        assert item.fields == {key: entry[key] for key in ("physical_offset", "size", "tags_code")}
    assert (end.reason, end.position) == (Reason.ZEROS, 80)


def test_queue_files_count_on_from_file_to_file(bench):
    fill(bench, 36)
    folder = bench.root / "consumequeue" / "T1" / "1"
    items, [end] = look(folder)
    assert [item.number for item in items] == [0, 1, 2, 3, 4, 5]
    assert len({item.file for item in items}) == 2
    assert end.reason is Reason.ZEROS
    assert [item.number for item in look(folder, offsets=(4, 5))[0]] == [4, 5]
    assert [item.number for item in look(folder, start=3, end=5)[0]] == [3, 4, 5]
    wanted = items[5].fields["physical_offset"]
    assert [item.number for item in look(folder, physical_offset=wanted)[0]] == [5]
    everything, ends = look(bench.root / "consumequeue", topic="T0")
    assert len(everything) == 18
    assert len(ends) == 3
    with pytest.raises(Unreadable, match="no consumequeue file"):
        look(bench.root / "consumequeue", topic="T9")


def test_fillers_extensions_and_holes_of_a_queue(tmp_path):
    filler = QUEUE_ENTRY.build({"physical_offset": 0, "size": 0x7FFFFFFF, "tags_code": 0})
    extended = QUEUE_ENTRY.build({"physical_offset": 9, "size": 100, "tags_code": -(2**63) + 60})
    path = tmp_path / f"{0:020d}"
    path.write_bytes(filler + extended + bytes(40) + extended + bytes(20))
    items, [end] = look(path, Kind.CONSUME_QUEUE)
    assert items[0].fields["meaning"].startswith("filler")
    assert items[1].fields["meaning"].endswith("at 60")
    assert (end.reason, end.position, end.resume) == (Reason.DAMAGE, 40, 4)
    assert [item.number for item in look(path, Kind.CONSUME_QUEUE, start=4)[0]] == [4]
    path.write_bytes(extended + b"\1\2")
    _, [end] = look(path, Kind.CONSUME_QUEUE)
    assert (end.reason, end.position) == (Reason.DAMAGE, 20)


def test_batch_queues_and_extensions(tmp_path):
    entry = {
        "physical_offset": 77,
        "size": 300,
        "tags_code": 5,
        "store_timestamp": 1_700_000_000_000,
        "base_offset": 40,
        "count": 3,
        "compacted_offset": -1,
        "reserved": 0,
    }
    queue = tmp_path / "batchconsumequeue" / "T" / "0" / f"{46 * 10:020d}"
    queue.parent.mkdir(parents=True)
    queue.write_bytes(BATCH_QUEUE_ENTRY.build(entry) + bytes(46))
    [item], [end] = look(queue)
    assert (item.fields, item.number, end.reason) == (entry, 10, Reason.ZEROS)
    unit = {
        "size": 23,
        "tags_code": 7,
        "store_timestamp": 8,
        "bit_map_size": 3,
        "bit_map": b"abc",
    }
    plain = unit | {"size": 20, "bit_map_size": 0, "bit_map": b""}
    data = QUEUE_EXT_UNIT.build(unit) + QUEUE_EXT_UNIT.build(plain)
    path = tmp_path / "consumequeue_ext" / "T" / "0" / f"{100:020d}"
    path.parent.mkdir(parents=True)
    for tail, reason in ((b"\xff\xff\0\0", Reason.END_OF_FILE), (bytes(9), Reason.ZEROS)):
        path.write_bytes(data + tail)
        items, [end] = look(path)
        assert [item.fields for item in items] == [unit, plain]
        assert [item.number for item in items] == [100, 123]
        assert end.reason is reason
    path.write_bytes(data + b"\0\x30")
    assert look(path)[1][0].reason is Reason.DAMAGE


# --- index


@pytest.fixture
def index(tmp_path):
    """The real broker's index file as the golden bytes describe it: the rest of it is holes."""
    golden = json.loads((VECTORS / "index.json").read_text())
    path = tmp_path / "index" / "20261121114757058"
    path.parent.mkdir()
    slots = golden["slot_count"]
    with path.open("wb") as file:
        file.write(bytes.fromhex(golden["header"]))
        for slot, number in golden["slots"].items():
            file.seek(40 + int(slot) * 4)
            file.write(INDEX_SLOT.build(number))
        file.seek(40 + slots * 4)
        file.write(bytes.fromhex(golden["entries"]))
        file.truncate(420_000_040)
    return path


def test_the_real_brokers_index(index):
    items, [end] = look(index)
    header, entries = items[0], items[1:]
    assert header.fields["slots"] == 5_000_000
    assert [item.number for item in entries] == list(range(1, header.fields["count"]))
    assert entries[0].fields["physical_offset"] == header.fields["begin_physical_offset"]
    assert end.reason is Reason.ZEROS
    assert [item.number for item in look(index, start=5, end=7)[0]] == [0, 5, 6, 7]


def test_a_key_is_followed_through_its_chain(index):
    record = parse_record((VECTORS / "commitlog-head.bin").read_bytes())
    found, [end] = look(index.parent, topic=record.topic, key="key1")
    assert [item.fields["physical_offset"] for item in found[1:]] == [record.physical_offset]
    assert end.reason is Reason.RANGE
    assert look(index, topic=record.topic, key="nobody")[0][1:] == []
    with pytest.raises(Unreadable, match="--key needs --topic"):
        look(index, key="key1")
    with pytest.raises(Unreadable, match="--topic needs --key"):
        look(index, topic="T")


def test_an_index_of_another_size_and_a_broken_chain(tmp_path):
    path = tmp_path / "index" / "20261121114757058"
    path.parent.mkdir()
    header = {
        "begin_timestamp": 1,
        "end_timestamp": 2,
        "begin_physical_offset": 10,
        "end_physical_offset": 20,
        "used_slots": 1,
        "count": 3,
    }

    def entry(number: int, previous: int) -> bytes:
        fields = {"key_hash": 2320, "seconds": 0, "previous_entry": previous}
        return INDEX_ENTRY.build(fields | {"physical_offset": number * 10})

    def write(slots: int, capacity: int, previous: int) -> None:
        data = INDEX_HEADER.build(header) + INDEX_SLOT.build(2) * slots + bytes(20)
        data += entry(1, 0) + entry(2, previous)
        path.write_bytes(data.ljust(40 + slots * 4 + capacity * 20, b"\0"))

    write(slots=25, capacity=100, previous=1)
    items, _ = look(path)
    assert items[0].fields["slots"] == 25
    assert len(items) == 3
    write(slots=7, capacity=100, previous=1)
    with pytest.raises(Unreadable, match="--index-slots"):
        look(path)
    assert len(look(path, index_slots=7)[0]) == 3
    write(slots=7, capacity=100, previous=9)
    # Every slot is in use here, so any key will do.
    _, [end] = look(path, index_slots=7, topic="A", key="b")
    assert end.reason is Reason.DAMAGE
    assert "points to 9" in end.text
    path.write_bytes(path.read_bytes()[: 40 + 7 * 4 + 45])
    assert look(path, index_slots=7)[1][0].reason is Reason.DAMAGE


# --- timers, checkpoints, marks, configuration


def timer_record(**more: int) -> bytes:
    fields = {
        "size": 52,
        "previous_position": -1,
        "magic": 1,
        "write_time": 1_700_000_000_000,
        "delay": 5000,
        "physical_offset": 300,
        "record_size": 200,
        "topic_hash": 4,
        "reserved": 0,
    }
    return TIMER_RECORD.build(fields | more)


def test_timer_log(tmp_path):
    path = tmp_path / "timerlog" / f"{1000:020d}"
    path.parent.mkdir()
    second = timer_record(previous_position=1000, magic=6, physical_offset=9)
    blank = timer_record(size=40, magic=MAGIC_BLANK - (1 << 32))
    path.write_bytes(timer_record() + second + blank)
    items, [end] = look(path.parent)
    assert [item.number for item in items] == [1000, 1052]
    assert [item.fields["meaning"] for item in items] == ["deliver", "roll and delete"]
    assert end.reason is Reason.END_OF_FILE
    assert [item.number for item in look(path, physical_offset=9)[0]] == [1052]
    assert [item.number for item in look(path, start=1001)[0]] == [1052]
    path.write_bytes(timer_record() + timer_record(size=51))
    assert look(path)[1][0].reason is Reason.DAMAGE


def test_timer_wheel_shows_used_slots_only(tmp_path):
    path = tmp_path / "timerwheel"
    slot = {"time": 1_700_000_000, "first_position": 0, "last_position": 52, "count": 2, "magic": 0}
    with path.open("wb") as file:
        for number in (3, 70_000):
            file.seek(number * 32)
            file.write(TIMER_SLOT.build(slot))
        file.truncate(38_707_200)
    items, [end] = look(path)
    assert [item.number for item in items] == [3, 70_000]
    assert items[0].fields == slot
    assert end.reason is Reason.END_OF_FILE


def test_checkpoints_marks_and_tables(bench, tmp_path):
    fill(bench)
    [item], [] = look(VECTORS / "checkpoint.bin", Kind.CHECKPOINT)
    assert item.fields["physic_msg_timestamp"] > 1_600_000_000_000
    [item], [] = look(bench.root / "checkpoint")
    assert item.fields["logics_physical_offset"] > 0
    short = tmp_path / "checkpoint"
    short.write_bytes(bytes(47))
    assert look(short)[1][0].reason is Reason.DAMAGE
    timer = tmp_path / "config" / "timercheck"
    timer.parent.mkdir()
    values = {name: 3 for name in TIMER_CHECKPOINT.parse(bytes(56)) if not name.startswith("_")}
    timer.write_bytes(TIMER_CHECKPOINT.build(values).ljust(4096, b"\0"))
    assert look(timer)[0][0].fields == values
    [item], [] = look(bench.root / "lock")
    assert item.fields["content"] == "lock"
    items, ends = look(VECTORS / "config")
    assert [item.file.name for item in items] == sorted(
        p.name for p in (VECTORS / "config").iterdir()
    )
    assert ends == []
    topics = next(item for item in items if item.file.name == "topics.json")
    assert "GoldenTopic" in topics.fields["content"]["topicConfigTable"]
    for text in (b"", b"{not json"):
        broken = tmp_path / "config" / "topics.json"
        broken.write_bytes(text)
        assert look(broken)[1][0].reason is Reason.DAMAGE
