"""Options of Kafka's kind: what may be said, what may not, and what is meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from trimq.spark.errors import WrongOption
from trimq.spark.options.parsing import read_options, write_options
from trimq.spark.options.positions import Position
from trimq.spark.options.values import Triggers
from trimq.spark.planning.pacing import Pacing
from trimq.spark.store.options import store_options

SERVERS = {"namesrv": "127.0.0.1:9876"}
GOOD = {**SERVERS, "topic": "T"}
NOON = 1_769_860_800_000


@pytest.mark.parametrize(
    ("more", "position"),
    [
        ({}, Position()),
        ({"startingOffsets": "earliest"}, Position("earliest")),
        # As ever: at its end where no message is that late.
        ({"startingOffsets": str(NOON)}, Position("time", NOON)),
        (
            {"startingOffsets": str(NOON), "startingOffsetsByTimestampStrategy": "ERROR"},
            Position("time", NOON, strict=True),
        ),
        ({"startingTimestamp": "2026-01-31T12:00:00Z"}, Position("time", NOON, strict=True)),
        (
            {"startingTimestamp": str(NOON), "startingOffsetsByTimestampStrategy": "latest"},
            Position("time", NOON),
        ),
        (
            {"startingOffsetsByTimestamp": json.dumps({"T": {"b": {"0": NOON}, "c": 5}, "U": "7"})},
            Position("times", times={("T", "b", 0): NOON, ("T", "c"): 5, ("U",): 7}, strict=True),
        ),
    ],
)
def test_where_to_start(more: dict[str, str], position: Position) -> None:
    assert read_options(GOOD | more).starting == position


@pytest.mark.parametrize(
    ("more", "position"),
    [
        ({"endingTimestamp": str(NOON)}, Position("time", NOON)),
        ({"endingOffsetsByTimestamp": '{"T": 5}'}, Position("times", times={("T",): 5})),
    ],
)
def test_where_to_end(more: dict[str, str], position: Position) -> None:
    assert read_options(GOOD | more).ending == position


def test_the_time_that_is_nearest_to_a_queue_counts() -> None:
    text = json.dumps({"T": {"b": {"0": 1}, "c": 2}, "U": 3})
    position = read_options(GOOD | {"endingOffsetsByTimestamp": text}).ending
    keys: list[Any] = [("T", "b", 0), ("T", "b", 1), ("T", "c", 9), ("U", "x", 0), ("V", "b", 0)]
    assert [position.time_of(key) for key in keys] == [1, None, 2, 3, None]


def test_chosen_queues() -> None:
    options = read_options(SERVERS | {"assign": '{"T": {"b": [2, 0]}, "A": {"c": [1]}}'})
    assert options.topics == ("A", "T")
    assert options.queues == {("T", "b", 0), ("T", "b", 2), ("A", "c", 1)}
    assert read_options(GOOD).queues is None


def test_limits() -> None:
    options = read_options(
        GOOD
        | {"minPartitions": "40", "maxOffsetsPerTrigger": "9", "minOffsetsPerTrigger": "9"}
        | {"maxTriggerDelay": "30s"}
    )
    assert options.least_partitions == 40
    assert options.triggers == Triggers(9, 9, 30.0)
    assert read_options(GOOD | {"minOffsetsPerTrigger": "1"}).triggers.delay == 900


def test_a_prefix_makes_the_same_group_whenever_the_same_is_read() -> None:
    one = read_options(GOOD | {"groupIdPrefix": "etl"}).pulls.group
    assert one.startswith("etl-")
    assert one == read_options(GOOD | {"groupIdPrefix": "etl", "tags": "A"}).pulls.group
    assert one != read_options(SERVERS | {"topic": "U", "groupIdPrefix": "etl"}).pulls.group


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"startingTimestmp": "1"}, "did you mean 'startingTimestamp'"),
        ({"asign": "{}"}, "did you mean 'assign'"),
        ({"minPartition": "1"}, "did you mean 'minPartitions'"),
        ({"assign": '{"T": {"b": [0]}}'}, "give option 'topic' or 'assign', not both"),
        ({"topic": "", "assign": "[0]"}, "option 'assign': the whole is not a JSON object; write"),
        ({"topic": "", "assign": "{"}, "option 'assign': this is not JSON"),
        ({"topic": "", "assign": "{}"}, "there is no queue in it"),
        ({"topic": "", "assign": '{"T": [0]}'}, "topic 'T' is not a JSON object"),
        ({"topic": "", "assign": '{"T": {"b": 0}}'}, "broker 'b' of topic 'T' has no list"),
        (
            {"topic": "", "assign": '{"T": {"b": [true]}}'},
            "'True' of topic 'T' is not a queue number",
        ),
        (
            {"startingOffsets": "latest", "startingTimestamp": "5"},
            "give option 'startingOffsets' or 'startingTimestamp', not both",
        ),
        (
            {"endingTimestamp": "5", "endingOffsetsByTimestamp": "{}"},
            "give option 'endingTimestamp' or 'endingOffsetsByTimestamp', not both",
        ),
        ({"startingTimestamp": "earliest"}, "'earliest': write a time like"),
        ({"startingTimestamp": "2026-11-22"}, "such as 2026-11-22T00:00:00Z"),
        ({"endingTimestamp": "2026-11-22 07:30"}, "such as 2026-11-22T07:30:00Z"),
        (
            {"startingOffsetsByTimestamp": "5"},
            "the whole is not a JSON object; write JSON of times",
        ),
        ({"startingOffsetsByTimestamp": '{"T": -1}'}, "-1 is not a time"),
        (
            {"startingOffsetsByTimestamp": '{"T": {"b": {"x": 1}}}'},
            "'x' of topic 'T' is not a queue",
        ),
        ({"startingOffsetsByTimestamp": '{"T": "soon"}'}, "'soon': write a time like"),
        ({"startingOffsetsByTimestampStrategy": "latest"}, "needs a time to start at"),
        (
            {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "fail"},
            "is 'fail', neither 'error' nor 'latest'",
        ),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "5, more than"),
        ({"maxTriggerDelay": "5m"}, "'maxTriggerDelay' needs option 'minOffsetsPerTrigger'"),
        (
            {"maxTriggerDelay": "5 years", "minOffsetsPerTrigger": "5"},
            "write a duration like 500ms, 30s, 15m or 1h",
        ),
        ({"minPartitions": "0"}, "not a number from 1"),
        ({"groupIdPrefix": "a", "consumerGroup": "b"}, "not both"),
        ({"groupIdPrefix": "a b"}, "group names consist of letters"),
    ],
)
def test_impossible_options(more: dict[str, str], sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        read_options(GOOD | more)


@pytest.mark.parametrize("text", ["2026-11-22", "2026-11-22 07:30", "2026-W47", "2026-11-22T01"])
def test_the_suggested_time_is_accepted(text: str) -> None:
    with pytest.raises(WrongOption) as raised:
        read_options(GOOD | {"startingOffsets": text})
    advised = str(raised.value).rpartition("such as ")[2]
    assert read_options(GOOD | {"startingOffsets": advised}).starting.word == "time"


def test_few_messages_wait_for_more_or_for_the_delay() -> None:
    now = 0.0
    pacing = Pacing(Triggers(least=10, delay=60), lambda: now)
    assert not pacing.holds(1)
    now = 59
    assert pacing.holds(9)
    assert not pacing.holds(9, begins=True)
    assert not pacing.holds(10)
    now = 118
    assert pacing.holds(9)
    now = 119
    assert not pacing.holds(9)
    assert not Pacing(Triggers(), lambda: now).holds(0)


def test_what_spark_says_about_a_table_is_not_an_option() -> None:
    """What it hands over at CREATE TABLE ... OPTIONS ... TBLPROPERTIES."""
    table = {
        "provider": "rocketmq",
        "owner": "root",
        "comment": "c",
        "a": "b",
        "is_managed_location": "true",
    }
    given = {**table, **GOOD, **{f"option.{key}": value for key, value in GOOD.items()}}
    assert read_options(given).topics == ("T",)
    with pytest.raises(WrongOption, match="did you mean 'topic'"):
        read_options(given | {"option.topc": "T"})


@pytest.mark.parametrize("given", [{}, {"provider": "rocketmq", "owner": "root"}])
def test_a_table_without_options_says_where_they_belong(given: dict[str, str]) -> None:
    for read in (read_options, write_options):
        with pytest.raises(
            WrongOption, match=r"FROM t WITH \(namesrv '127\.0\.0\.1:9876', topic 'T'"
        ):
            read(given)
    with pytest.raises(WrongOption, match=r"FROM t WITH \(path '/path/to/store'"):
        store_options(given)


def test_the_location_of_a_table_is_a_stores_path(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    table = {"provider": "rocketmq-store", "location": f"file:{tmp_path}"}
    assert [one.root for one in store_options(table).stores] == [str(tmp_path)]
