from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.timer import (
    CHECKPOINT_SIZE,
    RECORD_SIZE,
    SLOT_SIZE,
    TimerSlot,
    TimerState,
    pack_own_checkpoint,
    pack_slot,
    pack_timer_blank,
    pack_timer_checkpoint,
    pack_timer_record,
    parse_delivered_from,
    parse_slot,
    parse_slots,
    parse_timer_checkpoint,
    parse_timer_record,
    peek_timer,
)
from trimq.codec.layouts.timer import TIMER_CHECKPOINT, TIMER_RECORD, TIMER_SLOT
from trimq.codec.records.record import MAGIC_BLANK

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
LONGS = ("previous_position", "write_time", "physical_offset", "reserved")
INTS = ("size", "magic", "delay", "record_size", "topic_hash")
SLOT_FIELDS = ("time", "first", "last", "messages", "magic")
CHECKPOINT_FIELDS = [field.name for field in TIMER_CHECKPOINT.subcons]


@given(time=INT64, first=INT64, last=INT64, count=INT32, magic=INT32)
def test_slots_equal_their_declaration(time, first, last, count, magic):
    slot = TimerSlot(time, first, last, count, magic)
    declared = TIMER_SLOT.build(
        {
            "time": time,
            "first_position": first,
            "last_position": last,
            "count": count,
            "magic": magic,
        }
    )
    assert len(declared) == SLOT_SIZE
    assert list(parse_slots(declared * 2 + b"rest")) == [(time, first, last, count, magic)] * 2
    parsed = parse_slot(declared)
    assert [getattr(parsed, name) for name in SLOT_FIELDS] == [time, first, last, count, magic]
    assert pack_slot(slot) == declared


@given(st.fixed_dictionaries(dict.fromkeys(LONGS, INT64) | dict.fromkeys(INTS, INT32)))
def test_records_equal_their_declaration(fields):
    declared = TIMER_RECORD.build(fields)
    assert len(declared) == RECORD_SIZE
    record = parse_timer_record(b"x" + declared, 1)
    assert (record.size, record.magic) == (fields["size"], fields["magic"])
    assert record.previous == fields["previous_position"]
    assert (record.write_time, record.delay) == (fields["write_time"], fields["delay"])
    assert record.time == fields["write_time"] + fields["delay"]
    assert record.physical_offset == fields["physical_offset"]
    assert record.message_size == fields["record_size"]
    assert record.topic_hash == fields["topic_hash"]
    assert peek_timer(declared) == (fields["size"], fields["magic"] & 0xFFFFFFFF)
    packed = pack_timer_record(
        fields["previous_position"],
        fields["magic"],
        fields["write_time"],
        fields["delay"],
        fields["physical_offset"],
        fields["record_size"],
        fields["topic_hash"],
        fields["reserved"],
    )
    assert packed == TIMER_RECORD.build(fields | {"size": RECORD_SIZE})
    assert record.put_off_from == fields["reserved"]


def test_a_blank_is_seen_by_its_magic():
    blank = pack_timer_blank(100)
    assert len(blank) == 16
    assert peek_timer(blank) == (100, MAGIC_BLANK)


@given(st.lists(INT64, min_size=7, max_size=7), INT64)
def test_the_checkpoint_equals_its_declaration(numbers, delivered_from):
    fields = dict(zip(CHECKPOINT_FIELDS, numbers, strict=True))
    declared = TIMER_CHECKPOINT.build(fields)
    state = TimerState(*numbers)
    assert parse_timer_checkpoint(declared) == state
    assert parse_timer_checkpoint(declared[: CHECKPOINT_SIZE - 1]) == TimerState()
    assert pack_timer_checkpoint(state) == declared
    own = pack_own_checkpoint(state, delivered_from)
    assert own.startswith(declared)
    assert parse_delivered_from(own) == delivered_from
    assert parse_delivered_from(declared) is None
    assert parse_delivered_from(declared.ljust(4096, b"\0")) is None
