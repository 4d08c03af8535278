"""What native code does is what the careful way, which takes anything, does of the same."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec import native as codec_native
from trimq.codec.entries.queue import pack
from trimq.codec.errors import CodecError
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store import native
from trimq.store.appending.batch_sends import encode_batch, encode_unusual
from trimq.store.appending.record_limits import RecordLimits
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreError
from trimq.store.index.keys import KeyHashes
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.paths import LogPaths
from trimq.store.log.segment import Segment
from trimq.store.messages.message import Dispatched, Message
from trimq.store.queues.plain.consume_queue import ConsumeQueue
from trimq.store.queues.reading.pull import Pull, PullLimits, ReadResult, ReadStatus

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
    assert outcome(encode_batch, message, limits) == outcome(encode_unusual, message, limits)


def test_an_ordinary_batch_is_not_done_the_careful_way(limits, monkeypatch):
    monkeypatch.setattr("trimq.store.appending.batch_sends.split_batch", None)
    ordinary = [BatchItem(0, b"body", b"UNIQ_KEY\x01A\x02")] * 3
    message = Message("T", 0, join_batch(ordinary))
    assert len(encode_batch(message, 0, 0, 0, limits).sizes) == 3


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
    found = KeyHashes().of(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec_native, "key_hashes", lambda blocks, *_: ([], [-1] * len(blocks)))
        assert KeyHashes().of(messages) == found


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
    log.files.all = [Segment(low, "")] if low else []
    log.written = written
    queue = ConsumeQueue("T", 0, "/nowhere/0", 2000, OpenFiles(1))
    data = b"".join(pack(place * 100, size * 100, 0) for place, size in entries)
    names = ("memory_bytes", "memory_count", "disk_bytes", "disk_count")
    rules = PullLimits(
        file_size=file_size + 1, memory=memory, **dict(zip(names, more, strict=True))
    )
    found = []
    for quick in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not quick:
                patch.setattr(native, "take_entries", lambda *_: None)
            result = ReadResult(ReadStatus.NO_MATCHED_MESSAGE, 0)
            pull = Pull(log, rules, result, 0, *limits, None)
            queue.take(pull, data)
            packed = bool(result.packed)
            found.append(
                (
                    result.extents,
                    (result.message_count, result.byte_count, result.status),
                    (result.next_begin_offset, pull.last_record, pull.skip_before),
                )
            )
            if packed:
                offset, size = result.extents[-1]
                assert result.end == offset + size
    assert found[0] == found[1]
