"""Handles of popped messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.names import pop_retry_topic, pop_retry_topic_v2
from trimq.codec.pop.handle import (
    ORDERLY,
    Handle,
    format_handle,
    normal_topic,
    parse_handle,
    real_topic,
    retry_version,
)

EXAMPLE = "100 1795253573063 60000 3 0 broker-a 1 101"
LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
NAMES = st.text(st.characters(blacklist_characters=" ", blacklist_categories=["Cs"]), max_size=20)
TOPICS = st.from_regex(r"\A[a-zA-Z0-9%|-]{1,20}\Z").filter(lambda name: name[0] != "%")


def test_the_example_of_the_format() -> None:
    handle = parse_handle(EXAMPLE)
    assert (handle.first, handle.pop_time, handle.invisible) == (100, 1795253573063, 60000)
    assert (handle.revive_queue, handle.retry, handle.broker_name) == (3, "0", "broker-a")
    assert format_handle(handle, 1, 101) == EXAMPLE
    assert handle.due == 1795253633063
    assert not handle.is_orderly
    assert parse_handle(EXAMPLE.replace(" 3 ", f" {ORDERLY} ")).is_orderly


@given(LONGS, LONGS, LONGS, INTS, NAMES, NAMES, INTS, LONGS)
def test_what_is_written_is_read(
    first: int,
    pop_time: int,
    invisible: int,
    revive: int,
    retry: str,
    broker: str,
    queue_id: int,
    offset: int,
) -> None:
    handle = Handle(first, pop_time, invisible, revive, retry, broker)
    text = format_handle(handle, queue_id, offset)
    read = parse_handle(text)
    assert (read.first, read.pop_time, read.invisible) == (first, pop_time, invisible)
    assert (read.revive_queue, read.retry, read.broker_name) == (revive, retry, broker)
    assert format_handle(read, queue_id, offset) == text


@given(st.text(alphabet="0123456789 -x\u0661", max_size=60))
def test_what_is_no_handle_is_refused_or_read_as_six_fields(text: str) -> None:
    try:
        handle = parse_handle(text)
    except CodecError:
        return
    fields = text.split(" ")
    assert len(fields) >= 6
    numbers = (handle.first, handle.pop_time, handle.invisible, handle.revive_queue)
    assert numbers == tuple(int(field) for field in fields[:4])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "6 fields or more, not 1"),
        ("0 1 2 3 0", "6 fields or more, not 5"),
        ("x 1 2 3 0 b", "first offset"),
        ("0 x 2 3 0 b", "pop time"),
        ("0 1 x 3 0 b", "invisible time"),
        ("0 1 2 x 0 b", "revive queue"),
        (f"0 1 2 {2**31} 0 b", "revive queue"),
        (f"0 {2**63} 2 3 0 b", "pop time"),
        ("0  1 2 3 0 b", "pop time"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        parse_handle(text)


def test_a_time_turns_over_as_a_long_does() -> None:
    assert Handle(0, 2**63 - 1, 1, 0, "0", "b").due == -(2**63)


@given(TOPICS, TOPICS)
def test_kinds_of_topics(topic: str, group: str) -> None:
    for version, name in {
        "0": topic,
        "1": pop_retry_topic(topic, group),
        "2": pop_retry_topic_v2(topic, group),
    }.items():
        assert retry_version(name) == version
        assert real_topic(topic, group, version) == name
        assert normal_topic(name, group) == topic


def test_another_kind_of_topic() -> None:
    for version in ("", "3", "x", "00"):
        with pytest.raises(CodecError, match="0, 1 or 2"):
            real_topic("T", "G", version)
