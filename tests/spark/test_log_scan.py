"""Store files as Spark reads them: parts, torn ends, damage, tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from tests.spark.clock import Clock
from trimq.spark.errors import SparkSourceError, WrongOption
from trimq.spark.records.rows import Rows
from trimq.spark.schema import INDEX_ENTRY_COLUMNS, QUEUE_ENTRY_COLUMNS
from trimq.spark.store.log_scan import LogPart, scan
from trimq.spark.store.options import StoreOptions, store_options
from trimq.spark.store.plan import plan
from trimq.spark.store.records import read_named
from trimq.spark.store.source import FilteringLogReader
from trimq.spark.store.tables import entry_folders, index_entries, index_paths, queue_entries
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

FILE = 1 << 16


def write(root: Path, count: int, close: bool = True) -> list[tuple[str, bytes, int]]:
    """Messages of many sizes in files of 64 KiB: topic, body and place of each."""
    store = MessageStore(StoreConfig(root=root, mapped_file_size_commit_log=FILE), Clock())
    store.open()
    source = random.Random(1)
    written = []
    for number in range(count):
        body = source.randbytes(source.randrange(1, 3000))
        topic = ("T", "U")[number % 2]
        put = store.put(Message(topic, number % 3, body, b"KEYS\x01k%d\x02" % number))
        written.append((topic, body, put.physical_offset))
    if close:
        store.close()
    else:
        while store.write_derived():
            pass
        store.plan_checkpoint().run()
        store.abandon()
    return written


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    return tmp_path / "store"


def found(options: StoreOptions) -> Iterator[Rows]:
    for part in plan(options):
        if isinstance(part, LogPart):
            yield from scan(part, options)
        else:
            yield from read_named(part, options)


def read(root: Path, **options: Any) -> list[tuple[str, bytes, int]]:
    given = store_options({"path": str(root), **{key: str(one) for key, one in options.items()}})
    return [
        (rows.buffer[row[16] : row[17] - 2].decode(), rows.buffer[row[15] :][: row[14]], row[6])
        for rows in found(given)
        for row in rows
    ]


@pytest.mark.parametrize("split", [1024, 5000, 1 << 20])
def test_every_record_is_in_one_part(root: Path, split: int) -> None:
    written = write(root, 400)
    assert len(list((root / "commitlog").iterdir())) > 5
    assert read(root, splitBytes=split) == written
    assert read(root / "commitlog", splitBytes=split) == written


def test_bodies_that_look_like_records_are_not_records(root: Path) -> None:
    write(root, 30)
    whole = (root / "commitlog" / f"{0:020d}").read_bytes()[:40_000]
    store = MessageStore(StoreConfig(root=root, mapped_file_size_commit_log=FILE), Clock())
    store.open()
    put = store.put(Message("T", 0, whole, b""))
    store.close()
    found = read(root, splitBytes=1024)
    assert len(found) == 31
    assert found[-1] == ("T", whole, put.physical_offset)


def test_topics_and_times(root: Path) -> None:
    written = write(root, 400)
    assert read(root, topic="U") == [one for one in written if one[0] == "U"]
    every = store_options({"path": str(root)})
    times = [row[10] for rows in found(every) for row in rows]
    low, high = times[150], times[160]
    assert read(root, startTimestamp=low, endTimestamp=high) == written[150:160]
    # Files far away from the window are not even opened.
    assert (
        plan(store_options({"path": str(root), "startTimestamp": str(times[-1] + 120_000)}))
        == plan(every)[-1:]
    )


@pytest.mark.parametrize("torn", ["body", "tail", "all"])
def test_a_torn_tail_is_left_out(root: Path, torn: str) -> None:
    written = write(root, 50, close=False)
    assert (root / "abort").exists()
    store = MessageStore(StoreConfig(root=root, mapped_file_size_commit_log=FILE), Clock())
    last = max(path for path in (root / "commitlog").iterdir() if path.read_bytes().strip(b"\0"))
    at = written[-1][2] - int(last.name)
    data = bytearray(last.read_bytes())
    end = len(data.rstrip(b"\0"))
    data[{"body": at + 100, "tail": (at + end) // 2, "all": at + 4}[torn] : end] = bytes(
        end - {"body": at + 100, "tail": (at + end) // 2, "all": at + 4}[torn]
    )
    last.write_bytes(data)
    (root / "checkpoint").unlink()
    assert read(root) == written[:-1]
    del store


def test_damage_in_the_middle_hides_nothing_after_it(root: Path) -> None:
    written = write(root, 100)
    first = root / "commitlog" / f"{0:020d}"
    data = bytearray(first.read_bytes())
    place = written[5][2]
    data[place : place + 20] = b"?" * 20
    first.write_bytes(data)
    assert read(root) == written[:5] + written[6:]
    assert read(root, splitBytes=2048) == written[:5] + written[6:]


def test_queues_and_index_are_tables(root: Path) -> None:
    written = write(root, 90)
    options = store_options({"path": str(root), "table": "consumequeue"})
    rows = [
        row
        for folder in entry_folders(options)
        for batch in queue_entries(folder, list(QUEUE_ENTRY_COLUMNS), options.files)
        for row in batch.to_pylist()
    ]
    assert sorted(row["commitLogOffset"] for row in rows) == [place for _, _, place in written]
    assert {row["topic"] for row in rows} == {"T", "U"}
    for row in rows:
        number = [place for _, _, place in written].index(row["commitLogOffset"])
        assert row["queueId"] == number % 3
        assert row["queueOffset"] == number // 6
    only = store_options({"path": str(root), "table": "consumequeue", "topic": "U"})
    assert {folder.split("/")[-2] for folder in entry_folders(only)} == {"U"}
    entries = [
        row
        for path in index_paths(options)
        for batch in index_entries(path, list(INDEX_ENTRY_COLUMNS), options.files)
        for row in batch.to_pylist()
    ]
    assert [row["commitLogOffset"] for row in entries] == [place for _, _, place in written]


def test_conditions_become_options(root: Path) -> None:
    filters = pytest.importorskip("pyspark.sql.datasource")
    if not hasattr(filters, "EqualTo"):
        pytest.skip("this Spark has no conditions for Python data sources")
    written = write(root, 100)
    moment = datetime.fromtimestamp(1_700_000_000.5, UTC)

    def pushed(*conditions: Any) -> StoreOptions:
        reader = FilteringLogReader(store_options({"path": str(root)}), ["topic"])
        # What Spark need not look at again is what has one of two columns equal something.
        assert list(reader.pushFilters(list(conditions))) == [
            one
            for one in conditions
            if not isinstance(one, filters.EqualTo | filters.In)
            or one.attribute not in (topic, ("queueId",))
        ]
        reader.partitions()
        return reader._options

    topic, time = ("topic",), ("storeTimestamp",)
    wanted = pushed(
        filters.IsNotNull(topic),
        filters.In(topic, ("U", "V")),
        filters.GreaterThan(time, moment),
        filters.LessThanOrEqual(time, moment),
        filters.Not(filters.EqualTo(topic, "U")),
        filters.GreaterThan(time, datetime(2100, 1, 1)),
        filters.EqualTo(("keys",), "k1"),
        filters.In(("queueId",), (0, 2)),
        filters.GreaterThan(("queueId",), 1),
    )
    assert wanted.topics == {"U", "V"}
    assert wanted.queue_ids == {0, 2}
    assert (wanted.start, wanted.end) == (1_700_000_000_500, 1_700_000_000_501)
    nothing = pushed(filters.EqualTo(topic, "T"), filters.EqualTo(topic, "U"))
    assert nothing.topics == {""}
    assert not [rows for rows in found(nothing)]
    assert len(written) == 100


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"path": "/nowhere"}, "/nowhere is not a store"),
        ({"path": ""}, "give the store's directory"),
        ({"table": "queues"}, "there are: messages, consumequeue, index"),
        ({"startTimestamp": "earliest"}, "not a time like"),
        ({"topc": "T"}, "did you mean 'topic'"),
    ],
)
def test_impossible_options(root: Path, more: dict[str, str], sentence: str) -> None:
    (root / "commitlog").mkdir(parents=True)
    with pytest.raises(WrongOption, match=sentence):
        store_options({"path": str(root), **more})
    assert issubclass(WrongOption, SparkSourceError)
