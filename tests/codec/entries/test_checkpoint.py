from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.checkpoint import (
    CHECKPOINT_SIZE,
    NUMBERS_SIZE,
    find_checkpoint,
    pack_checkpoint,
    parse_checkpoint,
)
from trimq.codec.layouts.checkpoint import CHECKPOINT

INT64 = st.integers(-(2**63), 2**63 - 1)
OURS = {
    "physic_msg_timestamp": "record_timestamp",
    "logics_msg_timestamp": "queue_timestamp",
    "index_msg_timestamp": "index_timestamp",
    "master_flushed_offset": "master_flushed_offset",
    "confirm_phy_offset": "confirm_physical_offset",
    "logics_physical_offset": "queue_physical_offset",
}


@given(st.lists(INT64, min_size=6, max_size=6))
def test_the_fast_path_equals_its_declaration(numbers):
    declared = CHECKPOINT.build(dict(zip(OURS, numbers, strict=True)))
    found = parse_checkpoint(declared)
    assert [getattr(found, name) for name in OURS.values()] == numbers
    assert pack_checkpoint(found) == declared[:NUMBERS_SIZE]
    assert declared[NUMBERS_SIZE:] == bytes(CHECKPOINT_SIZE - NUMBERS_SIZE)


def test_a_short_file_says_nothing():
    assert find_checkpoint(bytes(NUMBERS_SIZE - 1)) is None
    assert parse_checkpoint(b"").record_timestamp == 0


def test_a_real_checkpoint(vectors):
    found = parse_checkpoint((vectors / "checkpoint.bin").read_bytes())
    assert found.record_timestamp > 1_600_000_000_000
