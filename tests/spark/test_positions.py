"""Where reading begins and ends: options, JSON, ranges, and what is lost."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from trimq.spark.errors import DataLost, WrongOption
from trimq.spark.options.parsing import read_options, write_options
from trimq.spark.options.positions import (
    Offsets,
    Position,
    parse_position,
    read_offsets,
    write_offsets,
)
from trimq.spark.planning.ranges import ranges, split
from trimq.spark.queues import QueueEnds, Range

KEY = ("T", "b", 0)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (None, Position()),
        ("Earliest", Position("earliest")),
        ("latest", Position("latest")),
        ("1700000000000", Position("time", 1_700_000_000_000)),
        ("2026-01-31T12:00:00Z", Position("time", 1_769_860_800_000)),
        ("2026-01-31T13:00:00.5+01:00", Position("time", 1_769_860_800_500)),
        ('{"T": {"b": {"0": -2}}}', Position("offsets", offsets={KEY: -2})),
    ],
)
def test_what_positions_may_be(text: str | None, position: Position) -> None:
    assert parse_position("startingOffsets", text) == position


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("soon", "write earliest"),
        ("2026-01-31T12:00:00", "say the time zone"),
        ("{", "option 'startingOffsets'"),
        ('{"T": 5}', "topic 'T' is not a JSON object"),
        ('{"T": {"b": {"x": 1}}}', "'x' of topic 'T' is not a queue number"),
        ('{"T": {"b": {"0": -3}}}', "-3 is not an offset"),
        ('{"T": {"b": {"0": true}}}', "True is not an offset"),
    ],
)
def test_what_positions_may_not_be(text: str, sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        parse_position("startingOffsets", text)


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=3), st.text(max_size=3), st.integers(0, 99)),
        st.integers(0, 1 << 62),
    )
)
def test_offsets_survive_their_json(offsets: Offsets) -> None:
    text = json.dumps(write_offsets(offsets))
    assert read_offsets(json.loads(text)) == offsets
    assert json.dumps(write_offsets(dict(reversed(offsets.items())))) == text


def test_ranges_within_the_bounds() -> None:
    bounds = {("T", "b", n): QueueEnds(0, 10, "addr") for n in range(3)}
    starts = {("T", "b", 0): 2, ("T", "b", 1): 5, ("T", "b", 2): 0}
    ends = {("T", "b", 0): 10, ("T", "b", 1): 5, ("T", "b", 2): 1}
    assert ranges(starts, ends, bounds, True) == [
        Range("T", "b", 0, "addr", 2, 10),
        Range("T", "b", 2, "addr", 0, 1),
    ]


@pytest.mark.parametrize(
    ("bounds", "left", "sentence"),
    [
        (
            {KEY: QueueEnds(4, 10, "a")},
            [(4, 9)],
            "queue 0, offsets 2 to 3: expired: the queue begins at 4",
        ),
        (
            {KEY: QueueEnds(0, 6, "a")},
            [(2, 6)],
            "offsets 6 to 8: not there: the queue ends before 6",
        ),
        ({KEY: QueueEnds(20, 30, "a")}, [], "offsets 2 to 8: expired"),
        ({}, [], "offsets 2 to 8: the queue does not exist any more"),
    ],
)
def test_lost_messages_fail_or_are_logged(
    caplog: pytest.LogCaptureFixture,
    bounds: dict[Any, QueueEnds],
    left: list[tuple[int, int]],
    sentence: str,
) -> None:
    starts, ends = {KEY: 2}, {KEY: 9}
    with pytest.raises(DataLost, match=sentence):
        ranges(starts, ends, bounds, True)
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        found = ranges(starts, ends, bounds, False)
    assert [(one.start, one.end) for one in found] == left
    assert sentence in caplog.text


@given(st.integers(0, 1000), st.integers(1, 1000), st.integers(1, 50))
def test_parts_cover_the_range(start: int, length: int, most: int) -> None:
    parts = split([Range("T", "b", 0, "a", start, start + length)], most)
    assert [n for part in parts for n in range(part.start, part.end)] == list(
        range(start, start + length)
    )
    sizes = [part.end - part.start for part in parts]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


GOOD = {"namesrv": "127.0.0.1:9876", "topic": "T"}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"topc": "x"}, "no option 'topc'; did you mean 'topic'"),
        ({"zzz": "x"}, "no option 'zzz'; there are: namesrv"),
        ({"namesrv": "here"}, "option 'namesrv': 'here' is not HOST:PORT"),
        ({"namesrv": ""}, "option 'namesrv' is missing"),
        ({"topic": ""}, "either option 'topic'"),
        ({"topicPattern": "a.*"}, "'topic' or 'topicPattern', not both"),
        ({"topic": "", "topicPattern": "("}, "option 'topicPattern'"),
        ({"topic": "a,,b"}, "an empty name"),
        ({"topics": "b"}, "not both"),
        ({"tags": "A", "sql": "a = 1"}, "not both"),
        ({"failOnDataLoss": "yes"}, "neither 'true' nor 'false'"),
        ({"maxMessagesPerPartition": "0"}, "not a number from 1"),
        ({"accessKey": "a"}, "belong together"),
    ],
)
def test_impossible_options(more: dict[str, str], sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        read_options({**GOOD, **more})


def test_options_are_read_without_regard_to_case() -> None:
    options = read_options({"NAMESRV": "a:1;b:2", "Topics": "A, B", "failondataloss": "FALSE"})
    assert options.connection.name_servers == "a:1;b:2"
    assert options.topics == ("A", "B")
    assert not options.pulls.fail_on_data_loss
    assert options.pulls.group == "TOOLS_CONSUMER"
    assert write_options({"namesrv": "a:1"}).topic is None
