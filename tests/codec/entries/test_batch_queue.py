"""The fast paths of batch queues and of extensions against their declarations."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.batch_queue import (
    BATCH_ENTRY_SIZE,
    BatchQueueEntry,
    pack_batch_entry,
    parse_batch_entries,
)
from trimq.codec.entries.extension_unit import (
    END_MARK,
    UNIT_SIZE,
    bit_map_size,
    pack_end_mark,
    pack_unit,
    parse_unit,
    unit_head,
    unit_size,
)
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY, QUEUE_EXT_UNIT

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAMES = ("physical_offset", "size", "tags_code", "store_timestamp", "base_offset", "count")


@given(values=st.tuples(INT64, INT32, INT64, INT64, INT64, INT16))
def test_a_batch_entry_equals_its_declaration(values):
    fields = dict(zip(NAMES, values, strict=True))
    declared = BATCH_QUEUE_ENTRY.build({**fields, "compacted_offset": -1, "reserved": 0})
    assert len(declared) == BATCH_ENTRY_SIZE
    assert pack_batch_entry(BatchQueueEntry(*values)) == declared
    found = parse_batch_entries(declared * 2 + b"rest")
    assert [[getattr(entry, name) for name in NAMES] for entry in found] == [list(values)] * 2
    assert found[0].end_offset == found[0].base_offset + found[0].count


@given(tags_code=INT64, store_timestamp=INT64, bit_map=st.binary(max_size=40))
def test_a_unit_equals_its_declaration(tags_code, store_timestamp, bit_map):
    declared = QUEUE_EXT_UNIT.build(
        {
            "size": UNIT_SIZE + len(bit_map),
            "tags_code": tags_code,
            "store_timestamp": store_timestamp,
            "bit_map_size": len(bit_map),
            "bit_map": bit_map,
        }
    )
    assert parse_unit(declared) == (len(declared), tags_code)
    assert unit_head(declared) == (len(declared), tags_code, store_timestamp)
    assert unit_size(declared) == len(declared)
    assert bit_map_size(declared) == len(declared) - UNIT_SIZE
    if not bit_map:
        assert pack_unit(tags_code, store_timestamp) == declared


def test_what_is_not_a_unit():
    unit = pack_unit(1, 2)
    assert parse_unit(unit[:-1]) is None
    assert parse_unit(bytes(UNIT_SIZE)) is None
    assert parse_unit(b"\xff\xff" + unit[2:]) is None
    assert parse_unit(b"\x00\x15" + unit[2:]) is None


def test_the_end_of_a_file_is_not_a_size():
    assert unit_size(pack_end_mark()) == END_MARK
