"""Keys, bodies and bits of what POP notes."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.pop import AckMsg, PopCheckPoint, decode_ack
from trimq.codec.pop.offset_info import OffsetInfo
from trimq.codec.pop.revive_records import (
    Popped,
    ack_body,
    ack_key,
    batch_ack_body,
    bits,
    checkpoint_body,
    checkpoint_key,
)

POPPED = Popped("G", "T", 1, 100, 5000, "b")
LONGS = st.integers(-(2**62), 2**62)
NAMES = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
WHICH = st.builds(Popped, NAMES, NAMES, st.integers(0, 2**31 - 1), LONGS, LONGS, st.none() | NAMES)


def test_keys() -> None:
    assert checkpoint_key(POPPED) == "T@1@100@G@5000@b@ck"
    assert ack_key(POPPED, 101) == "T@1@101@G@5000@b@ack"
    assert ack_key(POPPED) == "T@1@-1@G@5000@b@ack"
    assert ack_key(Popped("G", "T", 1, 100, 5000, None)) == "T@1@-1@G@5000@null@ack"


def fields_of(popped: Popped) -> dict[str, object]:
    return {
        "bn": popped.broker_name,
        "c": popped.group,
        "pt": popped.pop_time,
        "q": popped.queue_id,
        "so": popped.first,
        "t": popped.topic,
    }


@given(WHICH, st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=32), LONGS, st.booleans())
def test_a_checkpoint_is_what_its_struct_says(
    popped: Popped, distances: list[int], invisible: int, suspend: bool
) -> None:
    body = checkpoint_body(popped, distances, invisible, suspend)
    struct = PopCheckPoint(
        **fields_of(popped), d=distances, it=invisible, n=len(distances), sp=suspend
    )
    struct.revive_time = struct.due
    assert body == encode_body(struct)
    assert decode_body(PopCheckPoint, body) == struct


@given(WHICH, LONGS, st.lists(LONGS, max_size=40))
def test_an_acknowledgement_is_what_its_struct_says(
    popped: Popped, offset: int, offsets: list[int]
) -> None:
    one = AckMsg(**fields_of(popped), ao=offset)
    assert ack_body(popped, offset) == encode_body(one)
    assert decode_body(AckMsg, ack_body(popped, offset)) == one
    many = AckMsg(**fields_of(popped), aol=offsets)
    assert batch_ack_body(popped, offsets) == encode_body(many)


@given(st.sets(st.integers(0, 300)), st.integers(0, 310))
def test_bits_are_counted_from_the_lowest(numbers: set[int], most: int) -> None:
    number = sum(1 << bit for bit in numbers)
    data = number.to_bytes((number.bit_length() + 7) // 8, "little")
    assert bits(data, most) == sorted(bit for bit in numbers if bit < most)


def test_the_example_of_the_format() -> None:
    assert bits(b"\x05", 32) == [0, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.lists(st.integers(0, 99)))))
def test_places_are_segments(asked: list[tuple[int, int, list[int]]]) -> None:
    places = OffsetInfo()
    for queue, start, offsets in asked:
        places.add("0", queue, start, offsets)
    starts = [tuple(map(int, one.split(" "))) for one in _segments(places.start_offset_info)]
    assert starts == [(0, queue, start) for queue, start, _ in asked]
    found = [one.split(" ") for one in _segments(places.msg_offset_info)]
    assert [[int(n) for n in one[2].split(",") if n] for one in found] == [o for *_, o in asked]


def test_counts() -> None:
    places = OffsetInfo()
    places.count_queue("0", 3, 2)
    places.count_message("1", 3, 17, 4)
    assert places.order_count_info == "0 3 2;1 qo3%17 4"


def _segments(text: str) -> list[str]:
    return text.split(";") if text else []


def test_an_acknowledgement_with_long_names() -> None:
    one = decode_ack(
        b'{"ackOffset":7,"brokerName":"b","consumerGroup":"G","popTime":9,"queueId":2,"startOffset":5,"topic":"T"}'
    )
    assert (one.t, one.c, one.q, one.so, one.pt, one.bn) == ("T", "G", 2, 5, 9, "b")
    assert one.offsets() == [7]
    assert decode_ack(b'{"ackOffsetList":[5,6],"topic":"T"}').offsets() == [5, 6]
