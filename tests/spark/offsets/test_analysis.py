"""What is computed of a history: since when queues are stuck, rates, sums, topics that nobody reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from trimq.spark.offsets.history.analysis import Frames, analyse
from trimq.spark.offsets.history.compacting import DAY, tend
from trimq.spark.offsets.history.history import append, look
from trimq.spark.offsets.history.results import collect
from trimq.spark.offsets.snapshot.filters import Filters
from trimq.spark.offsets.snapshot.table import joined, part

START = 1_789_948_800_000
MINUTE = 60_000
PLACE = {"cluster": "c", "brokerName": "b"}


def queues(taken: int, ends: dict[str, tuple[int, ...]], low: int = 0) -> pa.Table:
    """Topics and the ends of their queues."""
    rows = [
        (topic, number, end) for topic, found in ends.items() for number, end in enumerate(found)
    ]
    topics, ids, highs = (list(column) for column in zip(*rows, strict=True))
    columns = {"topic": topics, "queueId": ids, "minOffset": low, "maxOffset": highs}
    return part(taken, taken, {**PLACE, **columns})


def group(
    taken: int, name: str, topic: str, at: dict[int, tuple[int, int]], **more: Any
) -> pa.Table:
    """A group's place and the end of each queue, by the queue's number."""
    columns = {
        **{"topic": topic, "consumerGroup": name, "queueId": list(at), "minOffset": 0},
        **{"committed": [one[0] for one in at.values()]},
        **{"maxOffset": [one[1] for one in at.values()], "members": 1, **more},
    }
    return part(taken, taken, {**PLACE, **columns})


def made(folder: Path, filters: Filters | None = None) -> Frames:
    return analyse(look(folder), filters or Filters())


def by(table: pa.Table, *names: str) -> dict[Any, dict[str, Any]]:
    return {tuple(row[name] for name in names): row for row in table.to_pylist()}


# Where G is of 100 messages, in each of five snapshots: moves until the third; stuck all the time; without backlog
# in the third; stuck since before the queue had a row; always at the end.
PLACES = {
    0: (10, 20, 30, 30, 30),
    1: (5, 5, 5, 5, 5),
    2: (7, 7, 100, 7, 7),
    3: (None, None, 9, 9, 9),
    4: (100, 100, 100, 100, 100),
}
SINCE = {0: (2, False), 1: (0, True), 2: (3, False), 3: (2, False), 4: (None, False)}


@pytest.mark.parametrize("merged", [False, True])
def test_since_when_queues_are_stuck(tmp_path: Path, merged: bool) -> None:
    times = [START + MINUTE * number for number in range(5)]
    for number, taken in enumerate(times):
        at = {
            queue: (places[number], 100)
            for queue, places in PLACES.items()
            if places[number] is not None
        }
        append(tmp_path, joined([queues(taken, {"T": (100,) * 5}), group(taken, "G", "T", at)]))
    if merged:
        tend(tmp_path, START + 3 * DAY, None)
    frames = made(tmp_path)
    rows = by(frames.queues, "queueId")
    for queue, (since, least) in SINCE.items():
        row = rows[queue,]
        assert row["stuck"] is (since is not None)
        assert row["stuckSince"] == (None if since is None else times[since])
        assert row["stuckAtLeast"] is least
    (topic,) = frames.topics.to_pylist()
    assert (topic["stuckQueues"], topic["stuckSince"], topic["stuckAtLeast"]) == (4, times[0], True)
    report = collect(frames, look(tmp_path).taken, 20)
    assert [row["queueId"] for row in report.stuck] == [1, 3, 0, 2]
    assert len(report.over_time) == 5


def test_the_history_is_read_as_far_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stopped in the third day before is not looked for in the days before that."""
    times = [START + DAY * number for number in range(6)]
    for number, taken in enumerate(times):
        at = {0: (min(number, 3), 100)}
        append(tmp_path, joined([queues(taken, {"T": (100,)}), group(taken, "G", "T", at)]))
    monkeypatch.setattr("trimq.spark.offsets.history.history._GROUP", 1)
    (oldest,) = (tmp_path / "day=2026-09-21").glob("*.parquet")
    data = oldest.read_bytes()
    frames = made(tmp_path)
    assert frames.queues["stuckSince"].to_pylist() == [times[3]]
    monkeypatch.setattr("trimq.spark.offsets.history.analysis.POINTS", 1)
    oldest.write_bytes(data[:10])
    assert made(tmp_path).queues["stuckSince"].to_pylist() == [times[3]]


def test_rates_and_sums(tmp_path: Path) -> None:
    ends = {"T": (100, 50), "Nobodys": (3,), "%DLQ%G": (4,), "%RETRY%G": (6,), "%DLQ%H": (1,)}
    first = [queues(START, ends), group(START, "G", "T", {0: (10, 100), 1: (20, 50)})]
    append(tmp_path, joined(first))
    later = START + 10_000
    ends |= {"T": (120, 50), "%DLQ%G": (9,)}
    second = [
        queues(later, ends),
        group(
            later, "G", "T", {0: (60, 120), 1: (15, 50)}, pulled=[70, None], delayMillis=[5, None]
        ),
        group(later, "G", "%RETRY%G", {0: (2, 6)}),
    ]
    append(tmp_path, joined(second))
    frames = made(tmp_path)
    rows = by(frames.queues, "topic", "queueId")
    assert [rows["T", n]["backlog"] for n in (0, 1)] == [60, 35]
    assert (rows["T", 0]["consumeRate"], rows["T", 0]["produceRate"]) == (5.0, 2.0)
    assert rows["T", 0]["drainSeconds"] == 20.0
    # Moved back: no rate. New: neither.
    assert (rows["T", 1]["consumeRate"], rows["T", 1]["produceRate"]) == (None, 0.0)
    assert (rows["%RETRY%G", 0]["produceRate"], rows["%RETRY%G", 0]["stuck"]) == (None, False)
    assert [rows["T", n]["inFlight"] for n in (0, 1)] == [10, None]
    (retry, topic) = sorted(frames.topics.to_pylist(), key=lambda row: row["backlog"])
    assert (retry["backlog"], topic["backlog"], topic["queues"], topic["delayMillis"]) == (
        4,
        95,
        2,
        5,
    )
    assert topic["skew"] == pytest.approx(60 * 2 / 95)
    groups = by(frames.groups, "consumerGroup")
    assert groups["G",]["retryBacklog"] == 4
    assert (groups["G",]["deadLetters"], groups["G",]["deadLetterGrowth"]) == (9, 5)
    # A group of which only dead letters are left.
    assert (groups["H",]["backlog"], groups["H",]["deadLetters"]) == (0, 1)
    assert groups["H",]["stuckQueues"] is None
    assert [(row["topic"], row["messages"]) for row in frames.unused.to_pylist()] == [
        ("Nobodys", 3)
    ]
    (cluster,) = frames.clusters.to_pylist()
    assert (cluster["topics"], cluster["groups"], cluster["backlog"]) == (5, 2, 99)
    assert cluster["produceRate"] == pytest.approx(2.5)
    report = collect(frames, [START, later], 1)
    assert [row["queueId"] for row in report.queues] == [0]
    assert report.delays == {"up to 1 s": 1, "unknown": 2}
    assert len(report.cells) == 3


def test_offsets_that_queues_do_not_have(tmp_path: Path) -> None:
    at = {0: (2, 10), 1: (11, 10), 2: (5, 10), 3: (10, 10)}
    rows = group(START, "G", "T", at, minOffset=4)
    append(tmp_path, joined([queues(START, {"T": (10,) * 4}, low=4), rows]))
    frames = made(tmp_path)
    found = by(frames.queues, "queueId")
    assert [found[n,]["remark"] for n in range(4)] == ["below min", "above max", None, None]
    assert [found[n,]["backlog"] for n in range(4)] == [6, 0, 5, 0]
    assert frames.topics["outOfRange"].to_pylist() == [2]
    assert frames.queues["drainSeconds"].to_pylist().count(0.0) == 2


def test_filters_choose_rows(tmp_path: Path) -> None:
    ends = {"T": (10,), "U": (10,), "%DLQ%G": (1,), "%DLQ%H": (1,), "Nobodys": (1,)}
    rows = [queues(START, ends)]
    rows += [group(START, name, topic, {0: (5, 10)}) for name, topic in (("G", "T"), ("H", "U"))]
    append(tmp_path, joined(rows))
    only = made(tmp_path, Filters(topics=("T*",)))
    assert only.groups["consumerGroup"].to_pylist() == ["G"]
    assert set(only.over_time["consumerGroup"].to_pylist()) == {"G"}
    assert only.unused.num_rows == 0
    assert set(only.ends["topic"].to_pylist()) == {"T", "%DLQ%G"}
    only = made(tmp_path, Filters(groups=("H",)))
    assert only.groups["consumerGroup"].to_pylist() == ["H"]
    # Whether anybody reads a topic does not depend on whom the report is about.
    assert only.unused["topic"].to_pylist() == ["Nobodys"]
    assert made(tmp_path, Filters(topics=("U", "%RETRY%X"))).topics["topic"].to_pylist() == ["U"]
