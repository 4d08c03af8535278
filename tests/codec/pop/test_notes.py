"""Keys, properties and bits of what POP notes."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.bodies.pop import AckMsg, PopCheckPoint
from trimq.codec.pop.notes import ack_properties, bits, checkpoint_properties
from trimq.codec.pop.places import Places


def test_a_checkpoint_is_due_a_second_early() -> None:
    point = PopCheckPoint(bn="b", c="G", t="T", q=1, so=100, pt=5000, it=60_000)
    assert checkpoint_properties(point) == {
        "UNIQ_KEY": "T@1@100@G@5000@b@ck",
        "TAGS": "ck",
        "TIMER_DELIVER_MS": "64000",
    }


def test_acknowledgements_have_keys_of_one_kind() -> None:
    one = AckMsg(ao=101, bn="b", c="G", t="T", q=1, so=100, pt=5000)
    assert ack_properties(one, 65_000) == {
        "UNIQ_KEY": "T@1@101@G@5000@b@ack",
        "TAGS": "ack",
        "TIMER_DELIVER_MS": "65000",
    }
    many = AckMsg(aol=[100, 102], bn="b", c="G", t="T", q=1, so=100, pt=5000)
    assert ack_properties(many, 65_000) == {
        "UNIQ_KEY": "T@1@-1@G@5000@b@ack",
        "TAGS": "bAck",
        "TIMER_DELIVER_MS": "65000",
    }


@given(st.sets(st.integers(0, 300)), st.integers(0, 310))
def test_bits_are_counted_from_the_lowest(numbers: set[int], most: int) -> None:
    number = sum(1 << bit for bit in numbers)
    data = number.to_bytes((number.bit_length() + 7) // 8, "little")
    assert bits(data, most) == sorted(bit for bit in numbers if bit < most)


def test_the_example_of_the_format() -> None:
    assert bits(b"\x05", 32) == [0, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.lists(st.integers(0, 99)))))
def test_places_are_segments(asked: list[tuple[int, int, list[int]]]) -> None:
    places = Places()
    for queue, start, offsets in asked:
        places.add("0", queue, start, offsets)
    starts = [tuple(map(int, one.split(" "))) for one in _segments(places.start_offset_info)]
    assert starts == [(0, queue, start) for queue, start, _ in asked]
    found = [one.split(" ") for one in _segments(places.msg_offset_info)]
    assert [[int(n) for n in one[2].split(",") if n] for one in found] == [o for *_, o in asked]


def test_counts() -> None:
    places = Places()
    places.count_queue("0", 3, 2)
    places.count_message("1", 3, 17, 4)
    assert places.order_count_info == "0 3 2;1 qo3%17 4"


def _segments(text: str) -> list[str]:
    return text.split(";") if text else []
