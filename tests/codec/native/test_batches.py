"""Records of batches and ids: C gives what Python gives, and says of the same batches that they are unusual."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec import native
from trimq.codec.native import batches
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.record import parse_record

V4, V6 = b"\x7f\0\0\x01\0\0\x2a\x9f", b"\xfe" * 20
MOST = (1 << 63) - 1
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), MOST)
places = st.just(7) | int64 | st.sampled_from([MOST, MOST - 100, MOST - 300, 1 << 63, -(1 << 64)])
blocks = st.binary(max_size=600) | st.sampled_from(
    [b"", b"k\x01v\x02", b"k\x01v\0", bytes(512), b"UNIQ_KEY\x01A\x02WAIT\x01true\x02"]
)
items = st.builds(BatchItem, int32, st.binary(max_size=300), blocks)


def send(**fields):
    return SimpleNamespace(
        **{
            "body": b"",
            "topic": "T",
            "born_host": V4,
            "store_host": V4,
            "queue_id": 1,
            "sys_flag": 0,
            "born_timestamp": 2,
            "reconsume_times": 3,
        }
        | fields
    )


@given(
    body=st.lists(items, max_size=6).map(join_batch) | st.binary(max_size=100),
    cut=st.integers(0, 30) | st.just(0),
    topic=st.sampled_from(["T", "Größe", "t" * 127, "t" * 128]),
    numbers=st.tuples(int32 | st.just(1 << 31), int32, int32),
    born=st.tuples(int64 | st.just(1 << 63), st.sampled_from([V4, V6, b"short"])),
    place=st.tuples(places, places, places),
)
def test_both_make_the_same_of_a_batch(body, cut, topic, numbers, born, place):
    one = send(
        body=body[: len(body) - cut],
        topic=topic,
        queue_id=numbers[0],
        sys_flag=numbers[1] & ~0x30 | (0x10 if born[1] == V6 else 0),
        reconsume_times=numbers[2],
        born_timestamp=born[0],
        born_host=born[1],
    )
    found = batches.encode_batch(one, *place, 256)
    assert native.encode_batch(one, *place, 256) == found
    if found is not None:
        at = 0
        for number, size in enumerate(found[1]):
            record = parse_record(found[0], at)
            assert (record.queue_offset, record.physical_offset) == (
                place[0] + number,
                place[1] + at,
            )
            at += size
        assert at == len(found[0])


@pytest.mark.parametrize("encode", [native.encode_batch, batches.encode_batch])
def test_numbers_that_no_record_holds_are_unusual(encode):
    """Not wrapped to others: an offset of 2**64 was taken for 0."""
    one = send(body=join_batch([BatchItem(0, b"body", b"")] * 2))
    assert encode(one, 0, 0, 0, 256) is not None
    for numbers in ((1 << 64, 0, 0), (0, 1 << 64, 0), (0, 0, 1 << 63), (MOST, 0, 0), (0, MOST, 0)):
        assert encode(one, *numbers, 256) is None


@pytest.mark.parametrize("message_ids", [native.message_ids, batches.message_ids])
def test_ids_of_records(message_ids):
    assert message_ids("7F", 255, [1, 2]) == "7F00000000000000FF,7F0000000000000100"
    assert message_ids("7F", 255, []) == ""
    for start, position, sizes in (
        ("é", 0, [1]),
        ("ÿ" * 8, 0, [1]),
        ("7F", -1, [1]),
        ("7F", 1, [-1]),
        ("7F", MOST, [1, 1]),
    ):
        with pytest.raises(ValueError, match=r"position|ASCII"):
            message_ids(start, position, sizes)
    with pytest.raises(OverflowError if message_ids is not batches.message_ids else ValueError):
        message_ids("7F", 1 << 63, [1])


@given(st.integers(0, 1 << 62), st.lists(st.integers(91, 1 << 22), min_size=1, max_size=9))
def test_both_make_the_same_ids(position, sizes):
    start = "7F00000100002A9F"
    assert native.message_ids(start, position, sizes) == batches.message_ids(start, position, sizes)
