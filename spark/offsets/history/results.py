"""What a report says, as plain values: small, whatever the size of the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.spark.offsets.history.analysis import Frames

Row = dict[str, Any]
SERIES: Final = 12
MAP_ROWS: Final = 30
MAP_CELLS: Final = 6000
# Upper ends of the classes of delays, in milliseconds, and what they are called.
DELAYS: Final = (
    (0, "nothing waiting"),
    (1_000, "up to 1 s"),
    (10_000, "1 to 10 s"),
    (60_000, "10 to 60 s"),
    (600_000, "1 to 10 min"),
    (3_600_000, "10 to 60 min"),
    (21_600_000, "1 to 6 h"),
    (86_400_000, "6 to 24 h"),
)
LONGER: Final = "more than a day"
UNKNOWN: Final = "unknown"
_BEHIND: Final = ("-backlog", "-delayMillis", "consumerGroup", "topic")
_QUEUE: Final = ("brokerName", "queueId")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Rows have the columns of `analysis`. `taken`: milliseconds since 1970 of each snapshot."""

    taken: list[int]
    clusters: list[Row]
    groups: list[Row]
    topics: list[Row]
    queues: list[Row]
    stuck: list[Row]
    out_of_range: list[Row]
    unused: list[Row]
    delays: dict[str, int]
    cells: list[Row]
    over_time: list[Row]

    @property
    def without_consumer(self) -> list[Row]:
        """Groups with no client connected."""
        return [group for group in self.groups if group["members"] == 0]

    @property
    def differing(self) -> list[Row]:
        """Groups whose members subscribe to different things."""
        return [group for group in self.groups if group["subscriptionsDiffer"]]

    def passed(self, max_lag: int | None, max_delay: float | None) -> Iterator[str]:
        """One sentence per group that is more messages, or more seconds, behind than allowed."""
        for group in self.groups:
            name, lag, delay = group["consumerGroup"], group["backlog"], group["delayMillis"] or 0
            if max_lag is not None and lag > max_lag:
                yield f"group {name} is {lag} messages behind, more than {max_lag}"
            if max_delay is not None and delay > max_delay * 1000:
                yield f"group {name} is {delay / 1000:.1f} s behind, more than {max_delay:g} s"


def collect(frames: Frames, taken: list[int], top: int) -> Report:
    """The rows to look at. `top`: how many of each long table."""
    groups = ordered(frames.groups, "-backlog", "consumerGroup", "cluster")
    topics = ordered(frames.topics, *_BEHIND)[: max(top, MAP_ROWS)]
    queues = frames.queues
    waiting = queues.filter(pc.greater(queues["backlog"], 0))
    outside = queues.filter(pc.is_valid(queues["remark"]))
    stuck = ordered(queues.filter(queues["stuck"]), "stuckSince", *_BEHIND, *_QUEUE)
    return Report(
        taken=taken,
        clusters=frames.clusters.to_pylist(),
        groups=groups.to_pylist(),
        topics=topics[:top].to_pylist(),
        queues=ordered(waiting, *_BEHIND, *_QUEUE)[:top].to_pylist(),
        stuck=stuck[:top].to_pylist(),
        out_of_range=ordered(outside, *_BEHIND, *_QUEUE)[:top].to_pylist(),
        unused=frames.unused[:top].to_pylist(),
        delays=_delays(queues["delayMillis"]),
        cells=_cells(queues, topics[:MAP_ROWS]),
        over_time=_over_time(frames.over_time, groups),
    )


def ordered(rows: pa.Table, *columns: str) -> pa.Table:
    """Sorted by columns, in descending order for a name with a minus; null comes last."""
    keys = [(one.lstrip("-"), "descending" if one[0] == "-" else "ascending") for one in columns]
    return rows.take(pc.sort_indices(rows, sort_keys=keys))


def _delays(millis: Any) -> dict[str, int]:
    """How many queues of groups are in each class."""
    found: dict[str, int] = {}
    counted = 0
    for end, text in DELAYS:
        below = pc.sum(pc.less_equal(millis, end)).as_py() or 0
        found[text] = below - counted
        counted = below
    found[LONGER] = len(millis) - millis.null_count - counted
    found[UNKNOWN] = millis.null_count
    return {text: count for text, count in found.items() if count}


def _cells(queues: pa.Table, topics: pa.Table) -> list[Row]:
    """The queues of the topics that are furthest behind."""
    keys = ["cluster", "consumerGroup", "topic"]
    wanted = topics.filter(pc.greater(topics["backlog"], 0)).select(keys)
    columns = [*keys, "brokerName", "queueId", "backlog", "delayMillis"]
    cells = queues.select(columns).join(wanted, keys, join_type="inner")
    return list(ordered(cells, *columns[:5])[:MAP_CELLS].to_pylist())


def _over_time(rows: pa.Table, groups: pa.Table) -> list[Row]:
    """The curves of the groups that are furthest behind."""
    chosen = groups.filter(pc.is_valid(groups["stuckQueues"]))["consumerGroup"][:SERIES]
    few = rows.filter(pc.is_in(rows["consumerGroup"], value_set=chosen.combine_chunks()))
    return list(ordered(few, "cluster", "consumerGroup", "takenAt").to_pylist())
