"""A check of index files, batch queues, extensions and light queues, written here by their layouts."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.batch_queue import batch_fields_at
from trimq.codec.entries.queue import pack
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.index import INDEX_ENTRY, INDEX_HEADER
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY, QUEUE_EXT_UNIT
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, encode_record, parse_record
from trimq.store.checking.check import CheckReport, StoreCheck
from trimq.store.checking.index import ExpectedHashes
from trimq.store.config import StoreConfig
from trimq.store.inspecting.index import key_hash
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

VECTORS = Path(__file__).parents[2] / "vectors"


def kinds(report: CheckReport) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report.findings.problems()}


def noted(report: CheckReport) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report.findings.notes()}


def write_store(
    root: Path, messages: list[Message], batch_topics: frozenset[str] = frozenset()
) -> list[Record]:
    times = iter(range(1_000_000, 9_000_000, 700))
    store = MessageStore(
        StoreConfig(root=root, mapped_file_size_commit_log=4096, message_index_enable=False),
        lambda: next(times),
    )
    store.open(dict.fromkeys(batch_topics, "BatchCQ"))
    places = [store.put(message).physical_offset for message in messages]
    records = []
    for place in places:
        data = store.record_at(place)
        assert data is not None
        records.append(parse_record(data))
    store.close()
    return records


# --- index


def keys_of(record: Record) -> list[str]:
    properties = parse_properties(record.properties)
    keys = [properties["UNIQ_KEY"]] if "UNIQ_KEY" in properties else []
    keys += [key for key in properties.get("KEYS", "").split(" ") if key]
    found = [f"{record.topic}#{key}" for key in keys]
    if "TAGS" in properties:
        found.append(f"{record.topic}#T#{properties['TAGS']}")
    return found


class Index:
    """Index files as IndexFile.putKey fills them."""

    def __init__(self, folder: Path, slots: int = 11, capacity: int = 44) -> None:
        self.folder = folder
        self.slots = slots
        self.capacity = capacity
        folder.mkdir(exist_ok=True)
        self._begin()

    def _begin(self) -> None:
        self._heads = [0] * self.slots
        self._entries: list[dict[str, int]] = [{}]
        self._end = (0, 0)

    def put(self, record: Record) -> None:
        for key in keys_of(record):
            if len(self._entries) == self.capacity:
                self.write()
                self._begin()
            self._put(key_hash(key), record)
        self._end = (record.store_timestamp, record.physical_offset)

    def _put(self, number: int, record: Record) -> None:
        begin = self._entries[1]["time"] if len(self._entries) > 1 else record.store_timestamp
        entry = {
            "key_hash": number,
            "physical_offset": record.physical_offset,
            "seconds": (record.store_timestamp - begin) // 1000,
            "previous_entry": self._heads[number % self.slots],
            "time": record.store_timestamp,
        }
        self._heads[number % self.slots] = len(self._entries)
        self._entries.append(entry)
        self._end = (record.store_timestamp, record.physical_offset)

    def write(self) -> Path:
        first = self._entries[1]
        header = {
            "begin_timestamp": first["time"],
            "end_timestamp": self._end[0],
            "begin_physical_offset": first["physical_offset"],
            "end_physical_offset": self._end[1],
            "used_slots": sum(map(bool, self._heads)),
            "count": len(self._entries),
        }
        data = INDEX_HEADER.build(header) + struct.pack(f">{self.slots}i", *self._heads) + bytes(20)
        data += b"".join(INDEX_ENTRY.build(entry) for entry in self._entries[1:])
        path = self.folder / f"{len(list(self.folder.iterdir())):017d}"
        path.write_bytes(data.ljust(40 + self.slots * 4 + self.capacity * 20, b"\0"))
        return path

    def entry_at(self, number: int) -> int:
        return 40 + self.slots * 4 + number * 20


@pytest.fixture
def records(tmp_path):
    messages = []
    for number in range(40):
        properties = f"KEYS\x01k{number} all\x02UNIQ_KEY\x01U{number}\x02"
        properties += f"TAGS\x01tag{number % 3}\x02" if number % 2 else ""
        message = Message(f"T{number % 2}", 0, b"body", properties.encode())
        if number % 10 == 9:
            message.sys_flag = SysFlag.PREPARED
        messages.append(message)
    messages.append(Message("T0", 0, b"rolled back", b"KEYS\x01x\x02", sys_flag=SysFlag.ROLLBACK))
    messages.append(Message("T0", 0, b"no keys"))
    return write_store(tmp_path, messages)


@pytest.fixture
def index(tmp_path, records):
    made = Index(tmp_path / "index")
    for record in records[:-2]:
        made.put(record)
    made.write()
    return made


def check(root: Path, quick: bool = False) -> CheckReport:
    return StoreCheck(root, quick=quick).run()


def patch(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def test_a_whole_index_is_sound(tmp_path, index):
    report = check(tmp_path)
    assert (kinds(report), noted(report)) == ({}, {})
    assert report.index_files > 1
    assert kinds(check(tmp_path, quick=True)) == {}


def test_damage_of_an_index_is_found(tmp_path, index):
    def damaged(number: int, at: int, data: bytes) -> dict[str, int]:
        path = index.folder / f"{0:017d}"
        before = path.read_bytes()
        patch(path, number if at < 0 else index.entry_at(number) + at, data)
        found = kinds(check(tmp_path))
        path.write_bytes(before)
        return found

    wrong, chain = "index entry wrong or missing", "index chain broken"
    assert damaged(5, 0, (7).to_bytes(4, "big")).keys() == {wrong, chain}
    assert damaged(5, 4, (9).to_bytes(8, "big"))["dangling index entry"] == 1
    assert damaged(5, 12, (9).to_bytes(4, "big")) == {wrong: 1}
    assert damaged(5, 16, (40).to_bytes(4, "big")) == {chain: 1}
    assert damaged(44, -1, (43).to_bytes(4, "big")) == {chain: 1}
    assert damaged(32, -1, (3).to_bytes(4, "big")) == {chain: 1}
    assert damaged(0, -1, bytes(40)).keys() == {wrong, chain}
    assert damaged(36, -1, (400).to_bytes(4, "big"))["index file damaged"] == 1


def test_records_that_are_not_indexed(tmp_path, records):
    made = Index(tmp_path / "index", capacity=1000, slots=250)
    for number, record in enumerate(records[:-2]):
        if 5 <= number < 30 and number not in (12, 13):
            made.put(record)
    made.write()
    report = check(tmp_path)
    assert kinds(report) == {"index entry wrong or missing": 12}
    assert noted(report) == {"index begins later than the log": 1}
    (tmp_path / "abort").touch()
    report = check(tmp_path)
    assert kinds(report) == {"index entry wrong or missing": 2}
    assert noted(report)["index entries not written yet"] == 10


def test_an_index_with_too_much(tmp_path, records):
    made = Index(tmp_path / "index", capacity=1000, slots=250)
    for record in records[:-2]:
        made.put(record)
    # After a crash the last record is indexed once more, which does no harm.
    made.put(records[-3])
    made.write()
    assert kinds(check(tmp_path)) == {}
    shutil.rmtree(tmp_path / "index")
    made = Index(tmp_path / "index", capacity=1000, slots=250)
    for record in records[:-2]:
        made.put(record)
    beyond = parse_record(
        encode_record(b"T", 0, 0, 0, 99_999, 0, 0, bytes(8), 0, bytes(8), 0, 0, b"", b"KEYS\x01k")
    )
    made.put(beyond)
    made.write()
    assert kinds(check(tmp_path)) == {"dangling index entry": 1}
    (tmp_path / "abort").touch()
    report = check(tmp_path)
    assert kinds(report) == {}
    assert noted(report)["index entries beyond the log's end"] == 1


def test_the_real_brokers_index_fits_its_log(tmp_path):
    """As far as the golden log goes; behind it, the entries point past its end."""
    golden = json.loads((VECTORS / "index.json").read_text())
    data = (VECTORS / "commitlog-head.bin").read_bytes()
    folders = [tmp_path / "commitlog", tmp_path / "index"]
    for folder in folders:
        folder.mkdir()
    (folders[0] / f"{0:020d}").write_bytes(data.ljust(1 << 20, b"\0"))
    with (folders[1] / "20261121114757058").open("wb") as file:
        file.write(bytes.fromhex(golden["header"]))
        for slot, number in golden["slots"].items():
            file.seek(40 + int(slot) * 4)
            file.write(number.to_bytes(4, "big"))
        file.seek(40 + golden["slot_count"] * 4)
        file.write(bytes.fromhex(golden["entries"]))
        file.truncate(420_000_040)
    (tmp_path / "abort").touch()
    report = check(tmp_path)
    assert kinds(report) == {}
    assert report.index_files == 1


@given(
    topic=st.text(st.characters(codec="utf-8"), min_size=1),
    keys=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\1\2 "), min_size=1)),
)
def test_the_fast_hashes_are_java_s(topic, keys):
    properties = f"KEYS\x01{' '.join(keys)}\x02".encode() if keys else b""
    record = Record(0, 0, 0, 0, 0, 0, 0, 0, 0, b"", 0, b"", 0, 0, b"", topic, properties)
    expected = [abs(string_hash(f"{topic}#{key}")) for key in keys]
    assert ExpectedHashes().of(record) == [0 if value == 1 << 31 else value for value in expected]


# --- batch queues


def batches(root: Path) -> list[dict[str, int]]:
    """A store whose topic B has five batches of three and one message; the entries of its queue."""
    messages = [
        Message("B", 0, b"body", b"INNER_NUM\x013\x02TAGS\x01t\x02", sys_flag=SysFlag.INNER_BATCH)
        for _ in range(5)
    ]
    messages.append(Message("B", 0, b"no batch", b"INNER_NUM\x01x\x02"))
    write_store(root, messages, frozenset(["B"]))
    [file] = (root / "batchconsumequeue" / "B" / "0").iterdir()
    data = file.read_bytes()
    file.unlink()
    parsed = [BATCH_QUEUE_ENTRY.parse(data[at:]) for at in range(0, 6 * 46, 46)]
    return [{key: value for key, value in entry.items() if key != "_io"} for entry in parsed]


def write_batch_queue(root: Path, entries: list[dict[str, int]]) -> None:
    """In files of four entries."""
    folder = root / "batchconsumequeue" / "B" / "0"
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(entries), 4):
        data = b"".join(BATCH_QUEUE_ENTRY.build(entry) for entry in entries[start : start + 4])
        (folder / f"{start * 46:020d}").write_bytes(data.ljust(4 * 46, b"\0"))


def offsets(root: Path, offset: int) -> None:
    (root / "config").mkdir(exist_ok=True)
    table = {"offsetTable": {"B@G": {"0": offset}}}
    (root / "config" / "consumerOffset.json").write_text(json.dumps(table))


def test_batch_queues(tmp_path):
    entries = batches(tmp_path)
    write_batch_queue(tmp_path, entries)
    offsets(tmp_path, 16)
    assert kinds(check(tmp_path)) == {}
    offsets(tmp_path, 17)
    assert kinds(check(tmp_path)) == {"consumer offset beyond the queue's end": 1}
    offsets(tmp_path, 0)
    for changed in ("size", "tags_code", "store_timestamp", "base_offset", "count"):
        write_batch_queue(tmp_path, [*entries[:2], entries[2] | {changed: 7}, *entries[3:]])
        assert kinds(check(tmp_path)) == {"wrong batch entry": 1}, changed
    write_batch_queue(tmp_path, [*entries[:2], entries[2] | {"physical_offset": 5}, *entries[3:]])
    assert kinds(check(tmp_path)) == {"missing entry": 1, "dangling entry": 1}
    ahead = entries[-1] | {"physical_offset": 1 << 20}
    write_batch_queue(tmp_path, [*entries, ahead])
    assert kinds(check(tmp_path)) == {"entry beyond the log's end": 1}
    shutil.rmtree(tmp_path / "batchconsumequeue")
    write_batch_queue(tmp_path, entries[:3])
    report = check(tmp_path)
    assert kinds(report) == {"missing entry": 3}
    (tmp_path / "abort").touch()
    (tmp_path / "checkpoint").write_bytes(bytes(4096))
    report = check(tmp_path)
    assert kinds(report) == {}
    assert noted(report)["entries that recovery writes"] == 3
    assert report.forecast.queues == 1


@given(
    st.tuples(
        *[
            st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            for bits in (64, 32, 64, 64, 64, 16, 32, 32)
        ]
    )
)
def test_the_fast_batch_entry_is_the_declared_one(values: tuple[Any, ...]):
    names = [field.name for field in BATCH_QUEUE_ENTRY.subcons]
    declared = BATCH_QUEUE_ENTRY.build(dict(zip(names, values, strict=True)))
    assert batch_fields_at(b"x" + declared, 1) == tuple(values)


# --- extensions and light queues


def test_tags_codes_in_an_extension(tmp_path):
    records = write_store(tmp_path, [Message("T", 0, b"x", b"TAGS\x01t\x02") for _ in range(3)])
    queue = tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}"
    unit = {
        "size": 20,
        "tags_code": string_hash("t"),
        "store_timestamp": records[1].store_timestamp,
        "bit_map_size": 0,
        "bit_map": b"",
    }
    folder = tmp_path / "consumequeue_ext" / "T" / "0"
    folder.mkdir(parents=True)
    (folder / f"{0:020d}").write_bytes(bytes(100))
    (folder / f"{100:020d}").write_bytes((bytes(30) + QUEUE_EXT_UNIT.build(unit)).ljust(100, b"\0"))
    place = (records[1].physical_offset, records[1].total_size)
    patch(queue, 20, pack(*place, -(2**63) + 130))
    assert kinds(check(tmp_path)) == {}
    patch(queue, 20, pack(*place, -(2**63) + 131))
    assert kinds(check(tmp_path)) == {"wrong entry": 1}
    patch(queue, 20, pack(*place, -(2**63) + 30))
    assert kinds(check(tmp_path)) == {"wrong entry": 1}


def test_light_queues_have_entries_of_their_own(tmp_path):
    dispatch = b"INNER_MULTI_DISPATCH\x01%LMQ%a,other\x02INNER_MULTI_QUEUE_OFFSET\x010,0\x02"
    record = write_store(tmp_path, [Message("T", 3, b"x", dispatch)])[0]
    assert kinds(check(tmp_path)) == {}
    for name, queue_id in (("%LMQ%a", 0), ("other", 3)):
        folder = tmp_path / "consumequeue" / name / str(queue_id)
        folder.mkdir(parents=True)
        entry = pack(record.physical_offset, record.total_size, 0)
        (folder / f"{0:020d}").write_bytes(entry.ljust(200, b"\0"))
    assert kinds(check(tmp_path)) == {}
    (tmp_path / "consumequeue" / "%LMQ%a" / "0" / f"{0:020d}").write_bytes(bytes(200))
    assert kinds(check(tmp_path)) == {"missing entry": 1}


def test_dead_letters_keep_the_names_and_not_the_entries(tmp_path):
    """A copy says where the original was."""
    dispatch = b"INNER_MULTI_DISPATCH\x01%LMQ%a\x02INNER_MULTI_QUEUE_OFFSET\x010\x02"
    record, _ = write_store(
        tmp_path, [Message("T", 3, b"x", dispatch), Message("%DLQ%g", 0, b"x", dispatch)]
    )
    folder = tmp_path / "consumequeue" / "%LMQ%a" / "0"
    folder.mkdir(parents=True)
    entry = pack(record.physical_offset, record.total_size, 0)
    (folder / f"{0:020d}").write_bytes(entry.ljust(200, b"\0"))
    assert kinds(check(tmp_path)) == {}


def test_offsets_in_light_queues_are_checked(tmp_path):
    write_store(tmp_path, [Message("T", 0, b"x")])
    table = {"offsetTable": {"T@g": {"0": 9}}, "lmqOffsetTable": {"T@%LMQ%g": 8}}
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "lmqConsumerOffset.json").write_text(json.dumps(table))
    assert kinds(check(tmp_path)) == {"consumer offset beyond the queue's end": 2}
