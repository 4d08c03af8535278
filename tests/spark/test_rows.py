"""Rows and columns made in C are those made in Python, or C leaves them to Python."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

pytest.importorskip("trimq.codec.native._rows", reason="make compiled builds it")

from trimq.codec.flags import SysFlag
from trimq.codec.native import _columns, _rows
from trimq.codec.records.addresses import pack_host
from trimq.codec.records.record import encode_blank, encode_record
from trimq.spark.records import scan_python
from trimq.spark.records.decode import to_batch
from trimq.spark.records.native import PackedColumns
from trimq.spark.records.rows import QUEUE_OFFSET, WRAPPED, Rows
from trimq.spark.records.scan import find_rows
from trimq.spark.records.scan_native import NativeRows
from trimq.spark.records.scan_python import PythonRows
from trimq.spark.schema import COLUMNS

V4, V6 = pack_host("10.0.0.1:10911"), pack_host("[2001:db8::1]:10911")
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIME = INT64 | st.integers(0, 1 << 43) | st.sampled_from([253_402_214_400_000, -62_135_337_600_001])
ENTRY = st.tuples(
    st.sampled_from(
        [b"KEYS", b"TAGS", b"UNIQ_KEY", b"a", b"", b"\xc3\xa9", b"\xff", b"\xfe", b"TIMER_OUT_MS"]
    ),
    st.sampled_from([b"\x01", b"", b"\x01\x01"]),
    st.sampled_from([b"", b"v", b"1700000000000", b"\xc3", b"\xa9", b"w\x01x", b"longer text"]),
).map(b"".join)
BLOCK = (
    st.lists(ENTRY, max_size=6).map(b"\x02".join)
    | st.lists(ENTRY, max_size=6).map(lambda entries: b"".join(one + b"\x02" for one in entries))
    | st.binary(max_size=20)
    | st.integers(60, 70).map(lambda count: b"".join(b"%d\x01v\x02" % n for n in range(count)))
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    born, stored = draw(st.sampled_from([V4, V6])), draw(st.sampled_from([V4, V6]))
    hosts = (SysFlag.BORN_HOST_V6 if born == V6 else 0) | (
        SysFlag.STORE_HOST_V6 if stored == V6 else 0
    )
    body = draw(st.binary(max_size=12))
    flags = draw(st.sampled_from([0, WRAPPED, 1 << 30]))
    if draw(st.booleans()):
        flags |= int(SysFlag.COMPRESSED)
        body = zlib.compress(body)
    return encode_record(
        draw(st.sampled_from([b"T", b"U", "Größe".encode(), b"\xff", b"", b"t" * 200, b"\0"])),
        draw(INT32),
        draw(INT32),
        draw(INT64 | st.integers(0, 9)),
        draw(INT64),
        flags | hosts,
        draw(TIME),
        born,
        draw(TIME),
        stored,
        draw(INT32),
        draw(INT64),
        body,
        draw(BLOCK),
    )


BUFFERS = st.tuples(
    st.lists(records(), max_size=6).map(b"".join),
    st.sampled_from([b"", encode_blank(100), b"\0" * 200, b"x" * 95]),
).map(b"".join)


def both(buffer: bytes, base: int = -1) -> tuple[Rows, Rows]:
    in_c, stopped = find_rows(buffer, 0, len(buffer), base)
    plain, where = scan_python.find_rows(buffer, 0, len(buffer), base)
    assert isinstance(in_c, NativeRows)
    assert isinstance(plain, PythonRows)
    assert stopped == where
    assert list(in_c) == list(plain)
    return in_c, plain


@given(BUFFERS, st.integers(0, 400), st.integers(0, 255))
def test_records_are_found_alike(data: bytes, place: int, value: int) -> None:
    both(data)
    if data:
        damaged = bytearray(data)
        damaged[place % len(data)] = value
        both(bytes(damaged))
        both(data[: place % len(data)])


@given(BUFFERS, st.sampled_from([[*COLUMNS], [*COLUMNS][::-1], ["keys", "topic"]]), st.booleans())
def test_columns_are_alike(data: bytes, names: list[str], tagged: bool) -> None:
    in_c, plain = both(data)
    tags = frozenset({"v"}) if tagged else frozenset()
    made = to_batch(in_c, names, "b", tags)
    made.validate(full=True)
    assert made == to_batch(plain, names, "b", tags)


@given(
    BUFFERS,
    TIME | st.just(-(1 << 63)),
    TIME | st.just((1 << 63) - 1),
    st.sampled_from([None, frozenset({b"T"}), frozenset({b"\xff", b""}), frozenset()]),
    st.none() | st.frozensets(INT32, max_size=3),
)
def test_the_same_are_chosen(data: bytes, start: int, end: int, topics: Any, queues: Any) -> None:
    in_c, plain = both(data)
    queues = queues or (queues if queues is None else frozenset(row[3] for row in plain))
    assert list(in_c.select(start, end, topics, queues)) == list(
        plain.select(start, end, topics, queues)
    )
    assert in_c.flagged(WRAPPED) == plain.flagged(WRAPPED)
    assert in_c.flagged(SysFlag.COMPRESSED) == plain.flagged(SysFlag.COMPRESSED)
    assert in_c.numbers(QUEUE_OFFSET) == plain.numbers(QUEUE_OFFSET)
    spans = [(0, 1), (1, 1), (2, len(plain))]
    assert list(in_c.take(spans)) == list(plain.take(spans))


@given(BUFFERS, st.integers(0, 1000), TIME)
def test_the_same_are_torn(data: bytes, place: int, unsure: int) -> None:
    torn = bytearray(data)
    torn[place:] = bytes(len(torn[place:]))
    rows, plain = both(data)
    for since in (unsure, -(1 << 63)):
        assert list(rows.sound(since)) == list(plain.sound(since))
        # The rows of a buffer that has been written to since.
        one = NativeRows(bytes(torn), rows.packed).sound(since)
        assert list(one) == list(PythonRows(bytes(torn), list(plain)).sound(since)) or torn != data


def test_an_ordinary_buffer_is_done_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    block = b"KEYS\x01k\x02TAGS\x01A\x02UNIQ_KEY\x01u\x02TIMER_OUT_MS\x011700000000000\x02"
    one = encode_record(b"T", 1, 0, 5, 0, 0, 1 << 40, V4, 1 << 40, V4, 0, 0, b"body", block)
    rows, _ = find_rows(one * 3, 0, 3 * len(one), -1)
    monkeypatch.setattr(PackedColumns, "_fields", None)
    assert to_batch(rows, list(COLUMNS), "b").num_rows == 3


def test_many_hosts_are_left_to_python() -> None:
    hosts = [pack_host(f"10.0.{number}.1:1") for number in range(100)]
    data = b"".join(encode_record(b"T", 0, 0, 0, 0, 0, 0, h, 0, V4, 0, 0, b"", b"") for h in hosts)
    in_c, plain = both(data)
    names = ["bornHost", "storeHost"]
    assert to_batch(in_c, names, None) == to_batch(plain, names, None)


def test_rows_of_another_buffer_are_refused() -> None:
    source = random.Random(1)
    one = encode_record(b"T", 0, 0, 0, 0, 0, 0, V4, 0, V4, 0, 0, b"body", b"k\x01v\x02")
    packed = find_rows(one, 0, len(one), -1)[0]
    assert isinstance(packed, NativeRows)
    for _ in range(200):
        wrong = packed.packed if source.random() < 0.1 else source.randbytes(len(packed.packed))
        for make in (
            lambda wrong=wrong: _columns.cut(wrong, one[:90], True),
            lambda wrong=wrong: _columns.properties(wrong, one[:90]),
            lambda wrong=wrong: _columns.property(wrong, one[:90], b"k"),
            lambda wrong=wrong: _columns.offset_ids(wrong, one[:90]),
            lambda wrong=wrong: _columns.hosts(wrong, one[:90], True),
            lambda wrong=wrong: _rows.sound(wrong, one[:90], 0),
            lambda wrong=wrong: _rows.select(wrong, one[:90], 0, 1, None, None),
        ):
            with pytest.raises(ValueError, match="these rows are not those of the buffer"):
                make()
    with pytest.raises(TypeError):
        _columns.cut(b"short", one, True)
    with pytest.raises(ValueError, match="outside"):
        _rows.outline(one, 0, len(one) + 1, -1)
