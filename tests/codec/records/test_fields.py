from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.layouts.record import RECORD
from trimq.codec.records.fields import HEAD_SIZE, physical_offset_at, size_at, store_time_at
from trimq.codec.records.record import FIXED_SIZE, MAGIC_V1, MAGIC_V2, RECORD_MAGICS, encode_record

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT32, INT64, INT64, INT64, st.text("abü", max_size=50), st.binary(max_size=5))
def test_the_fields_lie_where_they_are_declared(flag, at, born, stored, topic, before):
    data = encode_record(
        topic=topic.encode(),
        queue_id=1,
        flag=2,
        queue_offset=3,
        physical_offset=at,
        sys_flag=flag,
        born_timestamp=born,
        born_host=b"b" * (20 if flag & 16 else 8),
        store_timestamp=stored,
        store_host=b"s" * (20 if flag & 32 else 8),
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=b"",
        properties=b"",
    )
    declared = RECORD.parse(data)
    assert len(data) >= FIXED_SIZE >= HEAD_SIZE
    head, place = before + data[:HEAD_SIZE], len(before)
    assert size_at(head, place) == declared.total_size
    assert physical_offset_at(head, place) == declared.physical_offset
    assert store_time_at(head, place) == declared.store_timestamp


def test_the_magics_are_those_that_are_written():
    assert tuple(int.from_bytes(magic) for magic in RECORD_MAGICS) == (MAGIC_V1, MAGIC_V2)
