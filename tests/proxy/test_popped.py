"""Handles, attempts and offsets of what was popped."""

import pytest

from tests.proxy.fake_broker import BROKER, stored
from trimq.codec.errors import CodecError
from trimq.codec.headers.lite import PopLiteMessageResponseHeader
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.proxy.popped import lite_popped_of, popped_of


def header(**fields):
    return PopMessageResponseHeader(
        pop_time=1000, invisible_time=60, revive_qid=3, rest_num=0, **fields
    )


def handles(found):
    return [one.handle for one in found]


def test_handles_begin_with_their_batch():
    body = stored(b"a", 5) + stored(b"b", 6) + stored(b"c", 9, "%RETRY%G_T", 1)
    found = popped_of(body, header(start_offset_info="0 0 4;1 1 8"), "T", BROKER, False)
    assert handles(found) == [
        "4 1000 60 3 0 broker-a 0 5 500",
        "4 1000 60 3 0 broker-a 0 6 600",
        "8 1000 60 3 1 broker-a 1 9 900",
    ]
    assert {one.properties["1ST_POP_TIME"] for one in found} == {"1000"}
    assert {one.topic for one in found} == {"T"}


def test_old_brokers_do_not_say_where_it_begins():
    body = stored(b"a", 5) + stored(b"b", 6)
    found = popped_of(body, header(), "T", BROKER, False)
    assert [one.split(" ")[0] for one in handles(found)] == ["5", "5"]


def test_a_message_that_has_its_handle_keeps_it():
    body = stored(b"a", 5, times=2, POP_CK="1 2 3 4 1 b 6 7")
    found = popped_of(body, header(order_count_info="0 0 9"), "T", BROKER, True)
    assert handles(found) == ["1 2 3 4 1 b 6 7 500"]
    assert found[0].attempts == 2


@pytest.mark.parametrize("written", ["garbage", "a b c d e f g h"])
def test_what_a_producer_wrote_in_its_place_is_none(written):
    found = popped_of(stored(b"a", 5, POP_CK=written), header(), "T", BROKER, False)
    assert handles(found) == ["5 1000 60 3 0 broker-a 0 5 500"]
    lite = lite_popped_of(stored(b"a", 5, POP_CK=written), lite_header(), "Parent", BROKER)
    assert handles(lite) == [""]


@pytest.mark.parametrize(
    ("info", "is_ordered", "attempts"),
    [
        ("0 qo0%5 3;0 0 1", True, 3),
        ("0 0 1", True, 1),
        ("0 0 0", True, 2),
        ("0 0 1", False, 2),
        (None, True, 2),
    ],
)
def test_attempts_of_ordered_groups(info, is_ordered, attempts):
    body = stored(b"a", 5, times=2)
    found = popped_of(body, header(order_count_info=info), "T", BROKER, is_ordered)
    assert found[0].attempts == attempts


def test_a_header_that_cannot_be_read():
    with pytest.raises(CodecError):
        popped_of(stored(b"a", 5), header(start_offset_info="0 0 x"), "T", BROKER, False)


def lite(offset, queue="%LMQ%$Parent$one", offsets="7", **fields):
    return stored(
        b"a",
        offset,
        "Parent",
        4,
        INNER_MULTI_DISPATCH=queue,
        INNER_MULTI_QUEUE_OFFSET=offsets,
        **fields,
    )


def lite_header(counts=None):
    return PopLiteMessageResponseHeader(
        pop_time=1000, invisible_time=60, revive_qid=999, order_count_info=counts
    )


def test_lite_messages_lie_in_their_own_queue():
    body = lite(1, offsets="7") + lite(2, offsets="8", times=5)
    found = lite_popped_of(body, lite_header("2;0"), "Parent", BROKER)
    assert handles(found) == [
        "0 1000 60 999 0 broker-a 0 7 100",
        "0 1000 60 999 0 broker-a 0 8 200",
    ]
    assert [(one.attempts, one.lite_offset) for one in found] == [(2, 7), (0, 8)]


@pytest.mark.parametrize("counts", [None, "", "1", "1;2;3"])
def test_counts_that_are_not_one_for_each_are_none(counts):
    found = lite_popped_of(lite(1) + lite(2), lite_header(counts), "Parent", BROKER)
    assert [one.attempts for one in found] == [0, 0]


@pytest.mark.parametrize("fields", [{"offsets": "7,8"}, {"queue": "a,b"}, {"offsets": "x"}])
def test_a_lite_message_without_a_place_has_no_handle(fields):
    found = lite_popped_of(lite(1, times=1, **fields), lite_header("4"), "Parent", BROKER)
    assert (found[0].handle, found[0].attempts, found[0].lite_offset) == ("", 1, None)
