"""What is done in C gives what its twin in Python gives, or leaves it to the twin."""

from __future__ import annotations

import mmap
import random
import signal
import struct
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec import kernel
from trimq.codec.batch import BatchItem, join_batch
from trimq.codec.errors import CodecError
from trimq.codec.index_entry import pack_entries
from trimq.codec.message_id import batch_message_ids, ids_in_python
from trimq.codec.queue_entry import pack
from trimq.store.batch_records import encode_batch, encode_in_python
from trimq.store.commit_log import CommitLog
from trimq.store.config import StoreConfig
from trimq.store.consume_queue import ConsumeQueue
from trimq.store.errors import StoreError
from trimq.store.files import OpenFiles
from trimq.store.index_file import NO_ORIGIN, seconds_from
from trimq.store.index_keys import KeyHashes
from trimq.store.index_slots import SlotTable, copy_in_python
from trimq.store.loading import append_in_python
from trimq.store.log_paths import LogPaths
from trimq.store.message import Dispatched, Message
from trimq.store.reading import QueueReader, ReadResult, ReadStatus
from trimq.store.record_limits import RecordLimits
from trimq.store.segment import Segment

pytestmark = pytest.mark.skipif(
    not kernel.IN_C, reason="codec/_kernel.c is not compiled here (make compiled does it)"
)

V4, V6 = b"\x7f\0\0\x01\0\0\x2a\x9f", b"\xfe" * 20
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
blocks = st.binary(max_size=600) | st.sampled_from(
    [b"", b"k\x01v\x02", b"k\x01v\0", bytes(512), b"UNIQ_KEY\x01A\x02WAIT\x01true\x02"]
)
items = st.builds(BatchItem, int32, st.binary(max_size=300), blocks)


@pytest.fixture(scope="module")
def limits(tmp_path_factory):
    log = CommitLog(LogPaths([tmp_path_factory.mktemp("log")]), 4096, OpenFiles(4), 0)
    return RecordLimits(log, 256)


def outcome(encode, message, limits, queue_offset=7, position=1 << 40):
    try:
        found = encode(message, queue_offset, position, 1_700_000_000_000, limits)
    except (CodecError, StoreError) as error:
        return type(error), str(error)
    except Exception as error:
        # struct.error of the one is OverflowError of the other; both say: no record.
        return type(error)
    return found.data, found.sizes, found.properties


@given(
    body=st.lists(items, max_size=6).map(join_batch) | st.binary(max_size=100),
    cut=st.integers(0, 30) | st.just(0),
    topic=st.sampled_from(["T", "Größe", "t" * 127, "t" * 128]),
    numbers=st.tuples(int32 | st.just(1 << 31), int32, int32),
    times=st.tuples(int64 | st.just(1 << 63), st.just(V4) | st.just(V6) | st.just(b"short")),
)
def test_records_of_a_batch(limits, body, cut, topic, numbers, times):
    queue_id, sys_flag, reconsume_times = numbers
    born_timestamp, born_host = times
    message = Message(
        topic,
        queue_id,
        body[: len(body) - cut],
        b"",
        0,
        sys_flag & ~0x30 | (0x10 if born_host == V6 else 0),
        born_timestamp,
        born_host,
        V4,
        reconsume_times,
    )
    assert outcome(encode_batch, message, limits) == outcome(encode_in_python, message, limits)


def test_an_ordinary_batch_is_done_in_c(limits, monkeypatch):
    monkeypatch.setattr("trimq.store.batch_records.split_batch", None)
    ordinary = [BatchItem(0, b"body", b"UNIQ_KEY\x01A\x02")] * 3
    message = Message("T", 0, join_batch(ordinary))
    assert len(encode_batch(message, 0, 0, 0, limits).sizes) == 3


@given(
    position=st.integers(0, 1 << 62),
    sizes=st.lists(st.integers(91, 1 << 22), min_size=1, max_size=9),
)
def test_message_ids(position, sizes):
    start = "7F00000100002A9F"
    assert batch_message_ids(start, position, sizes) == ids_in_python(start, position, sizes)


words = st.text("ab \x01\x02é", max_size=12).map(str.encode)
entry = st.tuples(
    st.sampled_from([b"UNIQ_KEY", b"KEYS", b"TAGS", b"XKEYS", b"KEYSX", b""]), words
).map(b"\x01".join)


@given(
    st.lists(
        st.lists(entry, max_size=6).map(lambda entries: b"\x02".join([*entries, b""]))
        | st.binary(max_size=20),
        max_size=5,
    ),
    st.sampled_from(["T", "Größe"]),
)
def test_hashes_of_keys(all_properties, topic):
    messages = [
        Dispatched(topic, 0, n, n, 100, 0, 0, 0, block) for n, block in enumerate(all_properties)
    ]
    in_c = KeyHashes().of(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "IN_C", False)
        assert KeyHashes().of(messages) == in_c


@given(
    hashes=st.lists(st.integers(0, (1 << 31) - 1), max_size=40),
    slots=st.integers(1, 2000),
    begin=st.sampled_from([NO_ORIGIN, 1_000_000]),
    seed=st.integers(),
)
def test_entries_of_keys(hashes, slots, begin, seed):
    chance = random.Random(seed)
    offsets = [chance.randrange(1 << 62) for _ in hashes]
    times = [chance.choice([0, 999_500, 1_001_000, 1 << 50]) for _ in hashes]
    number = chance.randrange(1, 1000)
    before = [chance.randrange(-5, 2000) for _ in range(slots)]
    tables = [SlotTable(slots), SlotTable(slots)]
    for table in tables:
        table.values[:] = memoryview(array("i", before))
    entries, free = tables[0].enter_in_c(hashes, offsets, times, begin, number)
    previous = tables[1].enter(hashes, number)
    seconds = seconds_from(begin, times) if times else []
    assert entries == pack_entries(hashes, offsets, seconds, previous)
    assert free == previous.count(0)
    assert tables[0].values == tables[1].values
    assert list(tables[0].freeze()) == list(tables[1].freeze())


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=50), st.data())
def test_slots_on_their_way_out(values, data):
    table = memoryview(array("i", [*values, 0]))
    place = st.integers(0, len(table))
    runs = [
        tuple(sorted(pair)) for pair in data.draw(st.lists(st.tuples(place, place), max_size=4))
    ]
    size = sum(end - first for first, end in runs) * 4
    with mmap.mmap(-1, size + 4) as in_c, mmap.mmap(-1, size + 4) as in_python:
        kernel.copy_slots(table, runs, in_c)
        copy_in_python(table, runs, in_python)
        assert in_c[:] == in_python[:]


def test_runs_that_lie_outside_are_refused():
    table = memoryview(array("i", range(100)))
    with mmap.mmap(-1, 40) as target:
        for runs in ([(0, 11)], [(0, 6), (6, 11)], [(95, 101)], [(-1, 2)], [(3, 2)], [[1, 2]]):
            with pytest.raises(ValueError, match="lies outside"):
                kernel.copy_slots(table, runs, target)
        with pytest.raises(TypeError):
            kernel.copy_slots(table, [("a", 2)], target)


def test_tables_that_do_not_fit_are_refused():
    table = SlotTable(1000)
    with pytest.raises(ValueError, match="do not fit"):
        kernel.enter_keys(table.values, bytearray(), 1000, 10, 1024, 1, [1], [1], [1], 0)
    with pytest.raises(ValueError, match="do not fit"):
        kernel.enter_keys(table.values, bytearray(9), 1001, 10, 1024, 1, [1], [1], [1], 0)
    with pytest.raises(ValueError, match="do not fit"):
        kernel.enter_keys(table.values, bytearray(9), 1000, 10, 1024, 1, [1], [], [1], 0)


numbers = st.integers(0, 3000)


@given(
    entries=st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 5)), max_size=40),
    bounds=st.tuples(numbers, numbers, numbers, numbers),
    limits=st.tuples(st.integers(-1, 40), st.integers(0, 4000)),
    more=st.tuples(numbers, st.integers(0, 40), numbers, st.integers(0, 40)),
)
def test_entries_of_a_pull(entries, bounds, limits, more):
    low, written, file_size, memory = bounds
    log = CommitLog(LogPaths([Path("/nowhere")]), file_size + 1, OpenFiles(1), 0)
    log.segments = [Segment(low, "")] if low else []
    log.written = written
    reader = QueueReader(StoreConfig(root=Path("/nowhere")), log)
    queue = ConsumeQueue("T", 0, "/nowhere/0", 100, OpenFiles(1))
    fields = ("_memory", "_memory_bytes", "_memory_count", "_disk_bytes", "_disk_count")
    for name, value in zip(fields, (memory, *more), strict=True):
        setattr(reader, name, value)
    data = b"".join(pack(place * 100, size * 100, 0) for place, size in entries)
    found = []
    for in_c in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "IN_C", in_c)
            result = ReadResult(ReadStatus.NO_MATCHED_MESSAGE, 0)
            reader._take(queue, result, data, *limits, None)
            packed = bool(result.packed)
            found.append(
                (
                    result.extents,
                    (result.message_count, result.byte_count, result.status),
                    (result.next_begin_offset, result.last_record, result.skip_before),
                )
            )
            if packed:
                offset, size = result.extents[-1]
                assert result.end == offset + size
    assert found[0] == found[1]


@given(
    st.lists(st.tuples(st.integers(40, 135), st.integers(-1, 31)), max_size=9),
    st.integers(-1, 1),
)
def test_extents_joined(extents, off):
    """The bytes of all, or None when one lies outside or they are not as many as they should be."""
    whole = bytes(range(80))
    packed = b"".join(struct.pack("=qq", *extent) for extent in extents)
    inside = all(50 <= offset <= offset + size <= 130 for offset, size in extents)
    expected = b"".join(whole[offset - 50 : offset - 50 + size] for offset, size in extents)
    joined = kernel.join(packed, memoryview(whole), 50, len(expected) + off)
    assert joined == (expected if inside and not off else None)


def test_what_the_disk_does_not_give_is_not_joined(tmp_path):
    """A page that cannot be read is a SIGBUS; so is one that is no longer in the file."""
    path = tmp_path / "file"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ)
        file.truncate(4096)
    inside, gone = (struct.pack("=qq", at, 100) for at in (0, 5000))
    for _ in range(2):
        assert kernel.join(inside, memoryview(mapping), 0, 100) == bytes(100)
        assert kernel.join(inside + gone, memoryview(mapping), 0, 200) is None


def test_elsewhere_a_bus_error_still_ends_the_process(tmp_path):
    program = (
        "import mmap\nfrom codec import kernel\nassert kernel.IN_C\n"
        f"file = open({str(tmp_path / 'file')!r}, 'w+b')\nfile.truncate(8192)\n"
        "mapping = mmap.mmap(file.fileno(), 8192)\nfile.truncate(0)\nmapping[0]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGBUS, done.stderr


@given(
    st.lists(st.tuples(st.integers(50, 99), st.integers(0, 31)), max_size=9),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_views_of_extents(extents, first, behind):
    view = memoryview(bytes(range(80)))
    behind = min(behind, len(extents))
    found: list[list[Any]] = [[], []]
    kernel.append_views(found[0], view, 50, extents, first, behind)
    append_in_python(found[1], view, 50, extents, first, behind)
    assert [bytes(piece) for piece in found[0]] == [bytes(piece) for piece in found[1]]
    assert [len(piece) for piece in found[0]] == [len(piece) for piece in found[1]]
    assert all(memoryview(piece).readonly for piece in found[0])


def test_a_view_keeps_what_it_is_of():
    mapping = mmap.mmap(-1, 4096)
    mapping[:5] = b"bytes"
    whole = memoryview(mapping)
    views: list[Any] = []
    kernel.append_views(views, whole, 0, [(0, 5)], 0, 1)
    del whole
    with pytest.raises(BufferError):
        mapping.close()
    assert bytes(views[0]) == b"bytes"
    views.clear()
    mapping.close()


def test_extents_that_are_none_are_refused():
    with pytest.raises(IndexError, match="fewer"):
        kernel.append_views([], memoryview(b"abc"), 0, [(0, 1)], 0, 2)
    with pytest.raises(ValueError, match="outside"):
        kernel.append_views([], memoryview(b"abc"), 0, [(0, 4)], 0, 1)
    with pytest.raises(ValueError, match="outside"):
        kernel.append_views([], memoryview(b"abc"), 1, [(0, 1)], 0, 1)
    with pytest.raises(TypeError, match="extent"):
        kernel.append_views([], memoryview(b"abc"), 0, [(0, 1, 2)], 0, 1)
