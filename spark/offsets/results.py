"""What a report says, as plain values: small, whatever the size of the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trimq.spark.offsets.analysis import Frames, inline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = dict[str, Any]
SERIES: Final = 12
MAP_ROWS: Final = 30
MAP_CELLS: Final = 6000
# Upper ends of the classes of delays, in milliseconds, and what they are called.
DELAYS: Final = (
    (0, "nothing waits"),
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
        """One sentence per group that is behind more messages, or more seconds, than allowed."""
        for group in self.groups:
            name, lag, delay = group["consumerGroup"], group["backlog"], group["delayMillis"] or 0
            if max_lag is not None and lag > max_lag:
                yield f"group {name} is {lag} messages behind, more than {max_lag}"
            if max_delay is not None and delay > max_delay * 1000:
                yield f"group {name} is {delay / 1000:.1f} s behind, more than {max_delay:g} s"


def collect(frames: Frames, taken: list[int], top: int) -> Report:
    """Run the queries. `top`: how many rows of each long table."""
    from pyspark.sql import functions as f

    behind = [f.desc("backlog"), f.desc_nulls_last("delayMillis"), "consumerGroup", "topic"]
    groups = _rows(frames.groups.orderBy(f.desc("backlog"), "consumerGroup"))
    topics = _rows(frames.topics.orderBy(*behind).limit(max(top, MAP_ROWS)))
    queues = frames.queues
    by_queue = [*behind, "brokerName", "queueId"]
    stuck = queues.where("stuck").orderBy("stuckSince", *by_queue).limit(top)
    return Report(
        taken=taken,
        clusters=_rows(frames.clusters),
        groups=groups,
        topics=topics[:top],
        queues=_rows(queues.where("backlog > 0").orderBy(*by_queue).limit(top)),
        stuck=_rows(stuck),
        out_of_range=_rows(queues.where("remark is not null").orderBy(*by_queue).limit(top)),
        unused=_rows(frames.unused.limit(top)),
        delays=_delays(queues),
        cells=_cells(queues, topics[:MAP_ROWS]),
        over_time=_over_time(frames.over_time, groups),
    )


def _rows(frame: DataFrame) -> list[Row]:
    return [row.asDict() for row in frame.collect()]


def _delays(queues: DataFrame) -> dict[str, int]:
    """How many queues of groups are in each class."""
    from pyspark.sql import functions as f

    name = f.when(f.col("delayMillis").isNull(), UNKNOWN)
    for end, text in DELAYS:
        name = name.when(f.col("delayMillis") <= end, text)
    rows = queues.groupBy(name.otherwise(LONGER).alias("name")).count().collect()
    found = {row["name"]: row["count"] for row in rows}
    order = [*(text for _, text in DELAYS), LONGER, UNKNOWN]
    return {text: found[text] for text in order if text in found}


def _cells(queues: DataFrame, topics: list[Row]) -> list[Row]:
    """The queues of the topics that are furthest behind."""
    from pyspark.sql import functions as f

    keys = ["cluster", "consumerGroup", "topic"]
    chosen = [tuple(topic[key] for key in keys) for topic in topics if topic["backlog"] > 0]
    if not chosen:
        return []
    wanted = inline(queues.sparkSession, chosen, dict.fromkeys(keys, "string"))
    cells = queues.join(f.broadcast(wanted), keys)
    columns = [*keys, "brokerName", "queueId", "backlog", "delayMillis"]
    return _rows(cells.select(*columns).orderBy(*columns[:5]).limit(MAP_CELLS))


def _over_time(frame: DataFrame, groups: list[Row]) -> list[Row]:
    """The curves of the groups that are furthest behind."""
    from pyspark.sql import functions as f

    chosen = [group["consumerGroup"] for group in groups if group["stuckQueues"] is not None]
    rows = frame.where(f.col("consumerGroup").isin(chosen[:SERIES] or [""]))
    return _rows(rows.orderBy("cluster", "consumerGroup", "takenAt"))
