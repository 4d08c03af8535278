from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import crc32_31
from trimq.codec.layouts.record import BLANK, RECORD
from trimq.codec.records.record import (
    BLANK_SIZE,
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    Record,
    encode_blank,
    encode_record,
    parse_record,
    peek,
    record_size,
    skim_record,
)

# Beside the topic. A compiled class has no __slots__ to go by.
ENCODED = [
    "queue_id",
    "flag",
    "queue_offset",
    "physical_offset",
    "sys_flag",
    "born_timestamp",
    "born_host",
    "store_timestamp",
    "store_host",
    "reconsume_times",
    "prepared_transaction_offset",
    "body",
    "properties",
]
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TOPIC = st.text("abc%_ü", max_size=20) | st.text("T", min_size=120, max_size=255)


@st.composite
def records(draw):
    """The arguments of encode_record, by name."""
    sys_flag = draw(INT32)
    return {
        "topic": draw(TOPIC).encode()[:255],
        "queue_id": draw(INT32),
        "flag": draw(INT32),
        "queue_offset": draw(INT64),
        "physical_offset": draw(INT64),
        "sys_flag": sys_flag,
        "born_timestamp": draw(INT64),
        "born_host": draw(st.binary(min_size=20, max_size=20))[: 20 if sys_flag & 16 else 8],
        "store_timestamp": draw(INT64),
        "store_host": draw(st.binary(min_size=20, max_size=20))[: 20 if sys_flag & 32 else 8],
        "reconsume_times": draw(INT32),
        "prepared_transaction_offset": draw(INT64),
        "body": draw(st.binary(max_size=50)),
        "properties": draw(st.binary(max_size=50)),
    }


def host(packed: bytes) -> dict[str, object]:
    return {"address": packed[:-4], "port": int.from_bytes(packed[-4:], "big", signed=True)}


@given(fields=records().filter(lambda fields: fields["topic"].decode("utf-8", "ignore")))
def test_the_fast_path_equals_its_declaration(fields):
    fields["topic"] = fields["topic"].decode("utf-8", "ignore").encode()
    encoded = encode_record(**fields)
    declared = RECORD.build(
        fields
        | {
            "total_size": len(encoded),
            "magic": MAGIC_V2 if len(fields["topic"]) > 127 else MAGIC_V1,
            "body_crc": crc32_31(fields["body"]),
            "born_host": host(fields["born_host"]),
            "store_host": host(fields["store_host"]),
            "topic": fields["topic"].decode(),
        }
    )
    assert encoded == declared
    assert len(encoded) == record_size(
        len(fields["body"]), len(fields["topic"]), len(fields["properties"]), fields["sys_flag"]
    )
    parsed = parse_record(b"before" + encoded + b"after", 6)
    for name, value in fields.items():
        assert getattr(parsed, name) == (value.decode() if name == "topic" else value), name
    assert parsed.total_size == len(encoded)
    assert parsed.body_crc == crc32_31(fields["body"])


def skimmed(buffer, offset):
    """What skim_record should say, by parse_record."""
    try:
        record = parse_record(buffer, offset)
    except CodecError:
        return None
    return (
        record.total_size,
        record.queue_id,
        record.queue_offset,
        record.physical_offset,
        record.sys_flag,
        record.store_timestamp,
        record.topic.encode(),
        record.properties,
    )


@given(
    fields=records(),
    before=st.integers(0, 9),
    room=st.integers(0, 9),
    wrong=st.none() | st.tuples(st.integers(0, 400), st.integers(1, 255)),
)
def test_skimming_equals_parsing(fields, before, room, wrong):
    fields["topic"] = fields["topic"].decode("utf-8", "ignore").encode()
    data = bytearray(before) + encode_record(**fields)
    if wrong is not None and wrong[0] < len(data):
        data[wrong[0]] ^= wrong[1]
    data = bytes(data) + bytes(room)
    found = skim_record(data, before)
    if found is not None and wrong is not None:
        # It leaves it to its caller whether the topic is UTF-8.
        with suppress(UnicodeDecodeError):
            found[6].decode()
            assert found == skimmed(data, before)
    else:
        assert found == skimmed(data, before)
    for end in range(before, len(data) - room, 7):
        assert skim_record(data[:end], before) is None


def encode_again(record: Record) -> bytes:
    fields = {name: getattr(record, name) for name in ENCODED}
    return encode_record(**fields | {"topic": record.topic.encode()})


def test_golden_records_leave_as_they_came(golden_record):
    assert encode_again(parse_record(golden_record)) == golden_record
    assert RECORD.build(RECORD.parse(golden_record)) == golden_record


def test_the_head_of_a_real_commit_log_is_records_in_a_row(vectors):
    log = memoryview((vectors / "commitlog-head.bin").read_bytes())
    at = count = 0
    while at < len(log) and peek(log, at)[0]:
        record = parse_record(log, at)
        assert record.physical_offset == at
        assert encode_again(record) == log[at : at + record.total_size]
        at += record.total_size
        count += 1
    assert count > 10


SAMPLE = encode_record(
    b"T",
    1,
    2,
    3,
    4,
    0,
    5,
    b"\x7f\0\0\1\0\0\0\1",
    6,
    b"\x7f\0\0\1\0\0\0\2",
    7,
    8,
    b"hello",
    b"a\x01b",
)


@given(data=st.data())
def test_a_damaged_record_gives_a_record_or_one_typed_error(data):
    damaged = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CodecError):
        record = parse_record(bytes(damaged))
        assert crc32_31(record.body) == record.body_crc or not record.body


def test_a_record_cut_anywhere_is_not_a_record():
    for size in range(len(SAMPLE)):
        with pytest.raises(CodecError):
            parse_record(SAMPLE[:size])


def test_a_changed_body_is_found_by_its_crc():
    changed = SAMPLE.replace(b"hello", b"hullo")
    with pytest.raises(CodecError, match="CRC"):
        parse_record(changed)
    assert parse_record(changed, check_crc=False).body == b"hullo"


@pytest.mark.parametrize("magic", [0, MAGIC_BLANK, 0xDAA320A8])
def test_another_magic_is_not_a_record(magic):
    with pytest.raises(CodecError, match="magic"):
        parse_record(SAMPLE[:4] + magic.to_bytes(4, "big") + SAMPLE[8:])


@pytest.mark.parametrize("offset", [-1, len(SAMPLE), len(SAMPLE) - 7])
def test_offsets_outside_the_buffer_are_refused(offset):
    with pytest.raises(CodecError, match="no record head"):
        parse_record(SAMPLE, offset)


def test_hosts_must_be_what_the_flag_says():
    with pytest.raises(CodecError, match="born host of 8 bytes"):
        encode_record(b"T", 0, 0, 0, 0, 16, 0, bytes(8), 0, bytes(8), 0, 0, b"", b"")
    with pytest.raises(CodecError, match="store host of 20 bytes"):
        encode_record(b"T", 0, 0, 0, 0, 0, 0, bytes(8), 0, bytes(20), 0, 0, b"", b"")


def test_properties_beyond_a_short_are_refused():
    with pytest.raises(CodecError, match="32768"):
        encode_record(b"T", 0, 0, 0, 0, 0, 0, bytes(8), 0, bytes(8), 0, 0, b"", bytes(32768))


def test_the_smallest_record():
    record = encode_record(b"", 0, 0, 0, 0, 0, 0, bytes(8), 0, bytes(8), 0, 0, b"", b"")
    assert len(record) == FIXED_SIZE
    assert parse_record(record).topic == ""


@given(size=st.integers(BLANK_SIZE, 2**31 - 1))
def test_a_blank_equals_its_declaration(size):
    assert encode_blank(size) == BLANK.build({"size": size})
    assert peek(encode_blank(size)) == (size, MAGIC_BLANK)
