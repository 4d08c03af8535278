"""Records to columns: the same as the plain decoders say, message by message."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from trimq.codec.errors import CodecError  # noqa: E402
from trimq.codec.flags import SysFlag  # noqa: E402
from trimq.codec.records.addresses import pack_host, unpack_host  # noqa: E402
from trimq.codec.records.batch import BatchItem, join_batch  # noqa: E402
from trimq.codec.records.message_id import offset_message_id  # noqa: E402
from trimq.codec.records.properties import format_properties, parse_properties  # noqa: E402
from trimq.codec.records.record import encode_blank, encode_record, outline_records, parse_record  # noqa: E402
from trimq.spark.records.decode import outline, to_batch, unwrap  # noqa: E402
from trimq.spark.records.rows import WRAPPED  # noqa: E402
from trimq.spark.schema import COLUMNS, arrow_schema  # noqa: E402

V4 = pack_host("10.0.0.1:10911")
V6 = pack_host("[2001:db8::1]:10911")
PLAIN_PROPERTIES = st.dictionaries(
    st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "a", "é"]), st.text("xyé", min_size=1, max_size=5)
).map(format_properties)
ODD_PROPERTIES = st.lists(
    st.sampled_from(
        [b"KEYS", b"TAGS", b"a", b"\x01", b"\x02", b"\x01\x02", b"value", b"\xff", b"\xc3\xa9", b""]
    ),
    max_size=12,
).map(b"".join)


def record(**fields: Any) -> bytes:
    values: dict[str, Any] = {
        "topic": b"T",
        "queue_id": 1,
        "flag": 0,
        "queue_offset": 5,
        "physical_offset": 1000,
        "sys_flag": 0,
        "born_timestamp": 1_700_000_000_123,
        "born_host": V4,
        "store_timestamp": 1_700_000_001_456,
        "store_host": V4,
        "reconsume_times": 2,
        "prepared_transaction_offset": 0,
        "body": b"body",
        "properties": b"",
    }
    return encode_record(**{**values, **fields})


def rows_of(data: bytes, **more: Any) -> list[dict[str, Any]]:
    batch = to_batch(outline(data), list(COLUMNS), "broker-a", **more)
    assert batch.schema == arrow_schema(list(COLUMNS))
    found: list[dict[str, Any]] = batch.to_pylist()
    return found


def moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "topic": st.sampled_from([b"T", b"%RETRY%g", b"x" * 200]),
                "queue_id": st.integers(0, 2**31 - 1),
                "queue_offset": st.integers(0, 2**63 - 1),
                "physical_offset": st.integers(0, 2**63 - 1),
                "born_timestamp": st.integers(0, 2**42),
                "reconsume_times": st.integers(-(2**31), 2**31 - 1),
                "body": st.binary(max_size=20),
                "properties": PLAIN_PROPERTIES | ODD_PROPERTIES,
                "hosts": st.integers(0, 3),
            }
        ),
        max_size=8,
    )
)
def test_columns_are_what_the_record_parser_says(messages: list[dict[str, Any]]) -> None:
    parts = []
    for fields in messages:
        hosts = fields.pop("hosts")
        flag = (SysFlag.BORN_HOST_V6 if hosts & 1 else 0) | (
            SysFlag.STORE_HOST_V6 if hosts & 2 else 0
        )
        where = {"born_host": V6 if hosts & 1 else V4, "store_host": V6 if hosts & 2 else V4}
        parts.append(record(**fields, **where, sys_flag=flag))
    found = rows_of(b"".join(parts))
    assert len(found) == len(parts)
    for row, data in zip(found, parts, strict=True):
        plain = parse_record(data)
        properties = parse_properties(plain.properties)
        assert row == {
            "topic": plain.topic,
            "brokerName": "broker-a",
            "queueId": plain.queue_id,
            "queueOffset": plain.queue_offset,
            "commitLogOffset": plain.physical_offset,
            "msgId": offset_message_id(plain.store_host, plain.physical_offset),
            "uniqKey": properties.get("UNIQ_KEY"),
            "keys": properties.get("KEYS"),
            "tags": properties.get("TAGS"),
            "properties": list(properties.items()),
            "body": plain.body,
            "bornTimestamp": moment(plain.born_timestamp),
            "storeTimestamp": moment(plain.store_timestamp),
            "bornHost": unpack_host(plain.born_host),
            "storeHost": unpack_host(plain.store_host),
            "reconsumeTimes": plain.reconsume_times,
            "sysFlag": plain.sys_flag,
            "deliveryTimestamp": None,
        }


@given(st.lists(PLAIN_PROPERTIES, max_size=5), st.lists(ODD_PROPERTIES, max_size=2))
def test_a_property_alone_is_what_it_is_among_all(plain: list[bytes], odd: list[bytes]) -> None:
    data = b"".join(record(properties=block) for block in (*plain, *odd))
    names = ["keys", "tags", "uniqKey", "deliveryTimestamp"]
    rows = outline(data)
    alone = to_batch(rows, names, None)
    assert alone == to_batch(rows, [*names, "properties"], None).select(names)


@pytest.mark.parametrize(
    "millis", [2**63 - 1, 1_795_392_000_000_000, 253_402_300_799_999, -(2**62)]
)
def test_times_beyond_any_calendar_are_null(millis: int) -> None:
    found = rows_of(record(born_timestamp=millis) + record())
    assert found[0]["bornTimestamp"] is None
    assert found[1]["bornTimestamp"] == moment(1_700_000_000_123)


@pytest.mark.parametrize("millis", [0, -62_135_337_600_000, 253_402_214_400_000])
def test_times_of_the_calendar_can_be_shown_in_every_time_zone(millis: int) -> None:
    (row,) = rows_of(record(born_timestamp=millis))
    for hours in (-14, 14):
        assert row["bornTimestamp"].astimezone(timezone(timedelta(hours=hours)))


@pytest.mark.parametrize(
    ("properties", "millis"),
    [
        (b"TIMER_DELIVER_MS\x011700000002000\x02", 1_700_000_002_000),
        (b"TIMER_OUT_MS\x011700000003000\x02", 1_700_000_003_000),
        (b"TIMER_DELIVER_MS\x01soon\x02", None),
        (b"", None),
    ],
)
def test_when_a_message_is_delivered(properties: bytes, millis: int | None) -> None:
    (row,) = rows_of(record(properties=properties))
    assert row["deliveryTimestamp"] == (None if millis is None else moment(millis))


def test_only_the_wanted_tags_stay() -> None:
    data = b"".join(record(properties=p) for p in (b"TAGS\x01A\x02", b"TAGS\x01B\x02", b""))
    assert [row["tags"] for row in rows_of(data, tags=frozenset({"A", "C"}))] == ["A"]


def test_no_message_at_all() -> None:
    assert rows_of(b"") == []


def test_batches_in_one_record_are_unwrapped() -> None:
    items = [BatchItem(n, b"item %d" % n, b"n\x01%d\x02" % n) for n in range(3)]
    data = record(sys_flag=WRAPPED, body=join_batch(items)) + record(queue_offset=8)
    rows = outline(data)
    assert rows.flagged(WRAPPED)
    unwrapped = unwrap(rows)
    assert not unwrapped.flagged(WRAPPED)
    found = to_batch(unwrapped, ["queueOffset", "body", "properties"], None).to_pylist()
    assert [(row["queueOffset"], row["body"]) for row in found] == [
        (5, b"item 0"),
        (6, b"item 1"),
        (7, b"item 2"),
        (8, b"body"),
    ]
    assert found[2]["properties"] == [("n", "2")]


def test_a_compressed_batch_is_unpacked_before() -> None:
    items = [BatchItem(n, b"item %d" % n, b"n\x01%d\x02" % n) for n in range(2)]
    flag = WRAPPED | SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB
    rows = unwrap(outline(record(sys_flag=flag, body=zlib.compress(join_batch(items)))))
    found = to_batch(rows, ["queueOffset", "body"], None).to_pylist()
    assert [tuple(row.values()) for row in found] == [(5, b"item 0"), (6, b"item 1")]


@given(st.integers(0, 120), st.integers(0, 255))
def test_a_damaged_record_is_never_read_over(place: int, value: int) -> None:
    """Either the walk stops there, or what it says stays within the bytes."""
    data = bytearray(record() + record(properties=b"a\x01b\x02"))
    data[min(place, len(data) - 1)] = value
    rows: list[Any] = []
    stopped = outline_records(bytes(data), 0, len(data), -1, rows)
    assert 0 <= stopped <= len(data)
    for row in rows:
        assert 0 <= row[15] <= row[15] + row[14] < row[16] <= row[17] - 2 <= row[18] <= len(data)


def test_an_answer_that_is_not_all_records_is_refused() -> None:
    with pytest.raises(CodecError, match="no record at byte"):
        outline(record() + encode_blank(8))


def test_a_walk_stops_where_a_record_lies_about_its_place() -> None:
    data = record(physical_offset=0) + record(physical_offset=7)
    rows: list[Any] = []
    assert outline_records(data, 0, len(data), 0, rows) == len(data) // 2
    assert len(rows) == 1
