import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.queue import (
    ENTRY_SIZE,
    fields_at,
    pack,
    pack_offset,
    parse,
    parse_all,
    place_at,
)
from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY, QUEUE_ENTRY, QUEUE_EXT_UNIT
from trimq.codec.records.properties import find_property
from trimq.codec.records.record import parse_record

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(physical_offset=INT64, size=INT32, tags_code=INT64)
def test_the_fast_path_equals_its_declaration(physical_offset, size, tags_code):
    declared = QUEUE_ENTRY.build(
        {"physical_offset": physical_offset, "size": size, "tags_code": tags_code}
    )
    assert pack(physical_offset, size, tags_code) == declared
    entry = parse(b"x" + declared, 1)
    assert (entry.physical_offset, entry.size, entry.tags_code) == (
        physical_offset,
        size,
        tags_code,
    )
    assert fields_at(b"x" + declared, 1) == (physical_offset, size, tags_code)
    assert place_at(b"x" + declared, 1) == (physical_offset, size)
    assert declared.startswith(pack_offset(physical_offset))
    assert parse_all(declared * 2 + b"rest") == [(physical_offset, size, tags_code)] * 2


@pytest.mark.parametrize("offset", [-1, 1, 20])
def test_no_entry_outside_the_buffer(offset):
    with pytest.raises(CodecError, match="no whole queue entry"):
        parse(bytes(ENTRY_SIZE), offset)


def test_a_real_queue_points_at_its_records_and_hashes_their_tags(vectors):
    log = (vectors / "commitlog-head.bin").read_bytes()
    checked = 0
    for offset, (position, size, tags_code) in enumerate(
        parse_all((vectors / "consumequeue.bin").read_bytes())
    ):
        if not size or position + size > len(log):
            break
        record = parse_record(log, position)
        assert (record.total_size, record.queue_offset) == (size, offset)
        tags = find_property(record.properties, b"TAGS")
        assert tags_code == (0 if tags is None else string_hash(tags.decode()))
        checked += 1
    assert checked > 1


def test_the_other_queues_have_their_sizes():
    assert QUEUE_ENTRY.sizeof() == ENTRY_SIZE
    assert BATCH_QUEUE_ENTRY.sizeof() == 46
    unit = {"size": 23, "tags_code": 1, "store_timestamp": 2, "bit_map_size": 3, "bit_map": b"abc"}
    built = QUEUE_EXT_UNIT.build(unit)
    assert len(built) == unit["size"]
    assert QUEUE_EXT_UNIT.parse(built).bit_map == b"abc"
