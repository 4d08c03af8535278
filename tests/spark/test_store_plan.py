"""Through consume queues or straight through the log: the same rows, and the cheaper way is taken."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from tests.spark.clock import Clock
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.spark.errors import SparkSourceError, WrongOption
from trimq.spark.records.decode import to_batch, unwrap
from trimq.spark.records.rows import WRAPPED
from trimq.spark.schema import COLUMNS
from trimq.spark.store import log_scan
from trimq.spark.store import plan as store_plan
from trimq.spark.store.log_scan import LogPart, scan
from trimq.spark.store.options import StoreOptions, store_options
from trimq.spark.store.plan import Part, QueuePart, plan
from trimq.spark.store.records import read_named
from trimq.spark.store.source import LogReader
from trimq.store.config import StoreConfig
from trimq.store.inspecting.sparse_file import SparseFile
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

FILE = 1 << 16
# Queue files of 50 entries.
QUEUE_FILE = 1000
BATCHES = "Batches"


def made(root: Path, clock: Clock, **more: Any) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=FILE,
        mapped_file_size_consume_queue=QUEUE_FILE,
        mapper_file_size_batch_consume_queue=46 * 20,
        max_hash_slot_num=100,
        max_index_num=2000,
        **more,
    )
    store = MessageStore(config, clock)
    store.open({BATCHES: "BatchCQ"})
    return store


def put(store: MessageStore, source: random.Random, count: int) -> None:
    """Messages of many sizes: T has many, Few one of fifty, Batches records of several."""
    for number in range(count):
        queue_id, properties = source.randrange(3), b"KEYS\x01k%d\x02" % number
        if number % 50 == 7:
            store.put(Message("Few", queue_id, source.randbytes(100), properties))
        elif number % 10 == 3:
            items = [BatchItem(n, b"%d of %d" % (n, number), b"") for n in range(3)]
            inner = b"INNER_NUM\x013\x02" + properties
            store.put(Message(BATCHES, 0, join_batch(items), inner, sys_flag=int(WRAPPED)))
        else:
            body = source.randbytes(source.randrange(1, 3000))
            store.put(Message("T", queue_id, body, properties))


def written(store: MessageStore) -> None:
    while store.write_derived():
        pass


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was closed in order."""
    folder = tmp_path_factory.mktemp("closed") / "store"
    store = made(folder, Clock())
    put(store, random.Random(1), 600)
    store.close()
    return folder


@pytest.fixture
def root(closed: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(closed, tmp_path / "store"))


def options_for(root: object, **options: Any) -> StoreOptions:
    return store_options({"path": str(root), **{key: str(one) for key, one in options.items()}})


def rows_of(parts: list[Part], options: StoreOptions) -> list[dict[str, Any]]:
    found = []
    for part in parts:
        windows = scan(part, options) if isinstance(part, LogPart) else read_named(part, options)
        for rows in windows:
            found += to_batch(unwrap(rows), list(COLUMNS), "b").to_pylist()
    return sorted(found, key=lambda row: (row["commitLogOffset"], row["queueOffset"]))


def either_way(root: object, **options: Any) -> tuple[list[Part], list[dict[str, Any]]]:
    """The parts of the way through the queues, and the rows, which are those of the log."""
    through = options_for(root, useConsumeQueue="true", **options)
    straight = options_for(root, useConsumeQueue="false", **options)
    parts = plan(through)
    rows = rows_of(parts, through)
    assert rows == rows_of(plan(straight), straight)
    return parts, rows


@pytest.mark.parametrize("topics", ["Few", "T", BATCHES, f"T,{BATCHES}"])
@pytest.mark.parametrize("split", [1 << 17, 1 << 26])
def test_rows_are_the_same_either_way(root: Path, topics: str, split: int) -> None:
    parts, rows = either_way(root, topic=topics, splitBytes=split)
    assert {type(part) for part in parts} == {QueuePart}
    assert {row["topic"] for row in rows} == set(topics.split(","))
    # 64 KiB an entry, so that every task has its share.
    assert len(parts) > 4 if split == 1 << 17 else len(parts) <= 1 + len(rows) // 1000
    some = rows[3]["storeTimestamp"].isoformat(), rows[-3]["storeTimestamp"].isoformat()
    _, between = either_way(root, topic=topics, startTimestamp=some[0], endTimestamp=some[1])
    assert 0 < len(between) < len(rows)


def test_the_tail_that_queues_do_not_name_is_read_from_the_log(tmp_path: Path) -> None:
    root, source = tmp_path / "store", random.Random(2)
    store = made(root, Clock())
    put(store, source, 300)
    written(store)
    store.plan_checkpoint().run()
    put(store, source, 100)
    # Some of the queues have been written since, some not.
    store.write_derived()
    put(store, source, 100)
    store.flush()
    shutil.copytree(root, tmp_path / "seen", dirs_exist_ok=True)
    store.close()
    assert (tmp_path / "seen" / "abort").exists()
    for topic, count in (("Few", 10), ("T", 440), (BATCHES, 150)):
        parts, rows = either_way(tmp_path / "seen", topic=topic)
        assert {type(part) for part in parts} == {QueuePart, LogPart}
        assert len(rows) == count
    (tmp_path / "seen" / "checkpoint").unlink()
    parts, rows = either_way(tmp_path / "seen", topic="Few")
    assert {type(part) for part in parts} == {LogPart}
    assert len(rows) == 10


def test_queues_that_still_name_what_is_deleted(root: Path) -> None:
    files = sorted((root / "commitlog").iterdir())
    for path in files[:3]:
        path.unlink()
    low = int(files[3].name)
    for topic in ("Few", "T", BATCHES):
        parts, rows = either_way(root, topic=topic)
        assert {type(part) for part in parts} == {QueuePart}
        assert rows[0]["commitLogOffset"] >= low


def test_a_file_that_is_deleted_after_planning(root: Path) -> None:
    options = options_for(root, topic="T", useConsumeQueue="true")
    parts = plan(options)
    whole = rows_of(parts, options)
    files = sorted((root / "commitlog").iterdir())
    files[0].unlink()
    low = int(files[1].name)
    assert rows_of(parts, options) == [row for row in whole if row["commitLogOffset"] >= low]


def test_entries_that_lie_are_passed_over(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, rows = either_way(root, topic="Few")
    queue = min((root / "consumequeue" / "Few" / "1").iterdir())
    data = bytearray(queue.read_bytes())
    data[20 + 7] ^= 1
    queue.write_bytes(data)
    options = options_for(root, topic="Few", useConsumeQueue="true")
    found = rows_of(plan(options), options)
    assert len(found) == len(rows) - 1
    assert "and there is none" in caplog.text


def test_the_cheaper_way_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_plan, "NEAR_SEEK", 4 << 10)
    few, many, whole = (options_for(root, topic=name) for name in ("Few", "T", ""))
    assert [type(part) for part in plan(few)] == [QueuePart]
    assert {type(part) for part in plan(many)} == {LogPart}
    assert {type(part) for part in plan(whole)} == {LogPart}
    read: Counter[str] = Counter()
    fetch = SparseFile.fetch

    def counted(self: SparseFile, position: int, size: int) -> bytes:
        data = fetch(self, position, size)
        read[self.path.parent.name] += len(data)
        return data

    monkeypatch.setattr(SparseFile, "fetch", counted)
    parts = plan(few)
    read.clear()
    assert len(rows_of(parts, few)) == 12
    assert read["commitlog"] < 60 * 4096
    read.clear()
    assert len(rows_of(plan(many), many)) > 400
    assert read["commitlog"] > 600_000


def test_first_records_are_read_where_times_matter(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    look = log_scan._first_time
    monkeypatch.setattr(
        log_scan, "_first_time", lambda one, files: looked.append(one.path) or look(one, files)
    )
    files = sorted(str(path) for path in (root / "commitlog").iterdir())
    plan(options_for(root))
    # A broker makes files early: those at the end may hold nothing yet.
    assert sorted(looked) == files[-3:]
    looked.clear()
    plan(options_for(root, startTimestamp="2023-11-14T22:13:25Z"))
    assert sorted(looked) == files


def test_queues_are_chosen_and_conditions_that_contradict_find_nothing(root: Path) -> None:
    whole = options_for(root, topic="T")
    expected = [row for row in rows_of(plan(whole), whole) if row["queueId"] in (0, 2)]
    for way in ("true", "false"):
        chosen = options_for(root, topic="T", useConsumeQueue=way)
        filters = pytest.importorskip("pyspark.sql.datasource")
        if not hasattr(filters, "In"):
            pytest.skip("this Spark has no conditions for Python data sources")
        from trimq.spark.store.source import FilteringLogReader

        reader = FilteringLogReader(chosen, list(COLUMNS))
        assert not list(reader.pushFilters([filters.In(("queueId",), (0, 2, 9))]))
        rows = [
            row
            for partition in reader.partitions()
            for batch in reader.read(partition)
            for row in batch.to_pylist()
        ]
        rows.sort(key=lambda row: row["commitLogOffset"])
        assert [{**row, "brokerName": "b"} for row in rows] == expected
        assert not list(reader.pushFilters([filters.EqualTo(("queueId",), 1)]))
        assert reader.partitions() == []


def test_a_topic_without_a_queue_is_looked_for_in_the_log(root: Path) -> None:
    shutil.rmtree(root / "consumequeue" / "Few")
    parts = plan(options_for(root, topic="Few", useConsumeQueue="true"))
    assert {type(part) for part in parts} == {LogPart}
    assert len(rows_of(parts, options_for(root, topic="Few"))) == 12
    (root / "consumequeue" / "CURRENT").touch()
    assert {type(part) for part in plan(options_for(root, topic="T"))} == {LogPart}


@pytest.mark.parametrize("topic", ["..", "T/0", "a/b", "."])
def test_a_topic_cannot_lead_out_of_the_folder(root: Path, topic: str) -> None:
    options = options_for(root, topic=topic, useConsumeQueue="true")
    assert {type(part) for part in plan(options)} == {LogPart}


@pytest.fixture
def three(root: Path) -> Path:
    """Three stores beside each other."""
    for name in ("store-b", "store-c"):
        shutil.copytree(root, root.parent / name)
    return root.parent


LISTS: list[Callable[[Path], dict[str, str]]] = [
    lambda folder: {"path": f"{folder}/store,{folder}/store-b, file:{folder}/store-c/"},
    lambda folder: {"path": f"{folder}/store*"},
    lambda folder: {"path": f"{folder}/store-[bc],file://{folder}/store"},
    lambda folder: {"paths": json.dumps([f"{folder}/store", f"{folder}/store-?/commitlog"])},
]


@pytest.mark.parametrize("given", LISTS)
def test_several_directories(three: Path, given: Callable[[Path], dict[str, str]]) -> None:
    options = store_options({**given(three), "topic": "Few", "brokerName": "a,b,c"})
    assert {store.root for store in options.stores} == {
        f"{three}/{name}" for name in ("store", "store-b", "store-c")
    }
    reader = LogReader(options, ["brokerName", "commitLogOffset"])
    rows = [
        row["brokerName"]
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]
    assert Counter(rows) == {"a": 12, "b": 12, "c": 12}


def test_a_directory_with_a_comma_is_one(root: Path) -> None:
    odd = root.rename(root.parent / "a,b [c]*")
    assert [store.root for store in options_for(odd).stores] == [str(odd)]


def moved(root: Path) -> tuple[Path, Path]:
    """The log's files in two other folders, in turn."""
    folders = root.parent / "disk1", root.parent / "disk2"
    for folder in folders:
        folder.mkdir()
    for number, path in enumerate(sorted((root / "commitlog").iterdir())):
        shutil.move(path, folders[number % 2] / path.name)
    return folders


def test_a_log_in_several_folders(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, expected = either_way(root, topic="Few")
    one, two = moved(root)
    _, rows = either_way(root, topic="Few", storePathCommitLog=f"{one},{two}")
    assert rows == expected
    apart = {"storePathCommitLog": str(one), "readOnlyCommitLogStorePaths": str(two)}
    assert either_way(root, topic="Few", **apart)[1] == expected
    assert not caplog.text
    plan(options_for(root, storePathCommitLog=str(one)))
    assert "name them all in option storePathCommitLog" in caplog.text
    (root / "commitlog").rmdir()
    assert either_way(root, topic="Few", **apart)[1] == expected
    with pytest.raises(WrongOption, match="storePathCommitLog names others"):
        options_for(root)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": "/nowhere/*"}, "/nowhere/\\* matches no directory"),
        ({"storePathCommitLog": "/nowhere"}, "there is no folder /nowhere"),
        ({"storePathCommitLog": "/a, /b"}, "nothing but a comma"),
        ({"brokerName": "a,b"}, "2 names for 1 directories"),
        ({"storageOptions": "[]"}, "must be a JSON object"),
        ({"useConsumeQueue": "sometimes"}, "neither 'auto' nor 'true' nor 'false'"),
    ],
)
def test_impossible_options(root: Path, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        store_options({"path": str(root), **options})


def test_what_cannot_be_read_is_one_sentence(root: Path) -> None:
    options = options_for(root)
    reader = LogReader(options, ["topic"])
    parts = reader.partitions()
    first = min((root / "commitlog").iterdir())
    first.unlink()
    first.mkdir()
    with pytest.raises(SparkSourceError, match=f"{first} cannot be read: Is a directory"):
        list(reader.read(parts[0]))


@pytest.fixture
def far(root: Path) -> Iterator[str]:
    """The same store in another file system."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.put(str(root), "/bucket/store", recursive=True)
    yield "memory://bucket/store"
    system.rm("/bucket", recursive=True)


def test_another_file_system(root: Path, far: str) -> None:
    for options in ({}, {"topic": "Few"}, {"topic": f"T,{BATCHES}", "splitBytes": 1 << 17}):
        _, expected = either_way(root, **options)
        parts, rows = either_way(far, **options)
        assert rows == expected
        assert {type(part) for part in parts} == {QueuePart if options else LogPart}
    # A place further away: what is near is read in a row.
    auto = options_for(far, topic="Few")
    assert {type(part) for part in plan(auto)} == {LogPart}
    assert len(rows_of(plan(auto), auto)) == 12
    wild = options_for("memory://bucket/st*", topic="Few")
    assert rows_of(plan(wild), wild) == rows_of(plan(auto), auto)


def test_fsspec_is_asked_for_by_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(SparkSourceError, match="pip install fsspec"):
        options_for("memory://bucket/store")
