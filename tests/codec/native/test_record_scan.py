"""What a scan needs of records: in C and in Python the same, and what `parse_record` says of each."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimq.codec import native
from trimq.codec.java.hashes import string_hash
from trimq.codec.native import record_scan
from trimq.codec.records.record import encode_record, parse_record

V4, V6 = b"\x7f\0\0\x01\0\0\x2a\x9f", b"\xfe" * 20
BOTH = pytest.mark.parametrize("skim", [native.skim_records, record_scan.skim_records])


def made(
    at: int,
    *,
    topic: str = "T",
    queue: int = 3,
    sys_flag: int = 0,
    body: bytes = b"body",
    properties: bytes = b"TAGS\x01t\x02",
) -> bytes:
    born = V6 if sys_flag & 0x10 else V4
    store = V6 if sys_flag & 0x20 else V4
    return encode_record(
        topic.encode(), queue, 7, at * 2, at, sys_flag, 5, born, 1_700_000_000_000 + at, store, 0, 0, body, properties
    )  # fmt: skip


def row_of(data: bytes) -> record_scan.Row:
    found = parse_record(data)
    tag = found.properties.partition(b"TAGS\x01")[2].partition(b"\x02")[0]
    return (
        found.total_size,
        found.queue_id,
        found.queue_offset,
        found.sys_flag,
        found.store_timestamp,
        found.topic.encode(),
        found.properties,
        string_hash(tag.decode()) if tag.isascii() else None,
    )


RECORD = st.fixed_dictionaries(
    {
        "topic": st.sampled_from(["T", "T", "Größe", "t" * 127, "t" * 128, "t" * 300]),
        "queue": st.sampled_from([0, 7, -1, (1 << 31) - 1]),
        "sys_flag": st.sampled_from([0, 0x10, 0x20, 0x30, -1 << 31, 8]),
        "body": st.binary(max_size=40),
        "properties": st.sampled_from([b"", b"TAGS\x01t\x02", "TAGS\x01ü\x02".encode(), b"K\x01v\x02TAGS\x01x y"]),
    }
)  # fmt: skip


@BOTH
@given(records=st.lists(RECORD, max_size=5), start=st.sampled_from([0, 1 << 40]))
@example(records=[{}], start=1 << 61)
def test_each_has_what_parsing_finds(skim, records, start):
    data, rows, at = b"xx", [], start
    for fields in records:
        record = made(at, **fields)
        rows.append(row_of(record))
        data += record
        at += len(record)
    assert skim(data + b"\xff" * 100, 2, start, 9) == rows
    assert skim(data, 2, start, 2) == rows[:2]


@BOTH
def test_what_ends_the_walk(skim):
    first = made(0)
    size = len(first)
    for second in (
        made(size)[:-1],
        made(size)[:60],
        made(size + 1),
        made(size).replace(b"body", b"bogy"),
        made(size, properties=b"K\x01\x00\x02"),
        made(size).replace(b"\x01T\x00", b"\x02T\x00"),
        bytes(200),
        b"",
    ):
        assert len(skim(first + second, 0, 0, 9)) == 1, second
    assert skim(first, 0, 0, 0) == skim(first, 1, 0, 9) == skim(first, size, size, 9) == []
    assert skim(first, -1, 0, 9) == skim(first, 0, -1, 9) == skim(first, size + 50, 0, 9) == []


@BOTH
@given(
    data=st.lists(RECORD, min_size=1, max_size=3),
    accidents=st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 900),
)
def test_they_agree_about_damage(skim, data, accidents, cut):
    whole = bytearray()
    for fields in data:
        whole += made(len(whole), **fields)
    for at, value in accidents:
        whole[at % len(whole)] = value
    window = bytes(whole[:cut])
    assert skim(window, 0, 0, 9) == record_scan.skim_records(window, 0, 0, 9)


def test_what_is_no_window_is_refused():
    with pytest.raises(TypeError):
        native.skim_records(bytearray(200), 0, 0, 1) if native.IN_C else record_scan.skim_records(
            3, 0, 0, 1
        )
