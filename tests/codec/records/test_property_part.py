"""A record's properties, found without parsing the record."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.layouts.record import RECORD
from trimq.codec.records.property_part import (
    LONGEST_HEAD,
    after_body,
    properties_after,
    properties_in,
)
from trimq.codec.records.record import MAGIC_V1, MAGIC_V2

HOST_V4 = {"address": b"\x7f\0\0\1", "port": 1}
HOST_V6 = {"address": bytes(15) + b"\1", "port": 1}


def record(body: bytes, topic: str, properties: bytes, sys_flag: int) -> bytes:
    built: bytes = RECORD.build(
        {
            **{"total_size": 0, "body_crc": 0, "queue_id": 0, "flag": 0, "queue_offset": 0},
            **{"physical_offset": 0, "sys_flag": sys_flag, "born_timestamp": 0},
            **{"store_timestamp": 0, "reconsume_times": 0, "prepared_transaction_offset": 0},
            "magic": MAGIC_V2 if len(topic) > 127 else MAGIC_V1,
            "born_host": HOST_V6 if sys_flag & 0x10 else HOST_V4,
            "store_host": HOST_V6 if sys_flag & 0x20 else HOST_V4,
            **{"body": body, "topic": topic, "properties": properties},
        }
    )
    return len(built).to_bytes(4, "big") + built[4:]


@given(
    body=st.binary(max_size=200),
    topic=st.text("abc", max_size=200),
    properties=st.binary(max_size=300),
    sys_flag=st.sampled_from([0, 0x10, 0x20, 0x30, 0x3B]),
    before=st.binary(max_size=20),
)
def test_the_part_is_that_of_the_declaration(
    body: bytes, topic: str, properties: bytes, sys_flag: int, before: bytes
) -> None:
    data = record(body, topic, properties, sys_flag)
    assert properties_in(before + data, len(before), len(data)) == properties
    at = after_body(data[:LONGEST_HEAD])
    if at:
        assert properties_after(data[at:], 0, len(data) - at, data[7]) == properties


@given(st.binary(max_size=300))
def test_what_is_no_record_has_none(data: bytes) -> None:
    found = properties_in(data, 0, len(data))
    assert found in data


def test_a_record_that_claims_more_than_there_is_has_none() -> None:
    data = record(b"body", "T", b"a\x01b\x02", 0)
    for end in range(len(data)):
        assert properties_in(data, 0, end) in (b"", b"a\x01b\x02")
    endless = data[:84] + b"\xff\xff\xff\xff" + data[88:]
    assert properties_in(endless, 0, len(data)) == b""
