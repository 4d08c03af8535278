"""What the history says, computed by Spark's own expressions: no Python runs on executors.

Frames are columns over the newest snapshot and the one before; only "since when" and "over time" look at
the whole history, and of it at the columns they need. Rates are messages a second, times milliseconds since
1970, delays milliseconds.

Spark takes a snapshot for a small table, because its file is: a million and a half rows have 10 MB. It would
send such a table to every task, for which no heap is large enough. So joins that grow with the number of
queues say how they are to be done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from trimq.spark.offsets.filters import ALL, DEAD, RETRY, Filters
from trimq.spark.offsets.history import SnapshotFile, spread
from trimq.spark.offsets.table import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Points of a curve over time.
POINTS: Final = 300
QUEUE_KEY: Final = ("cluster", "brokerName", "topic", "queueId")
KEY: Final = (*QUEUE_KEY, "consumerGroup")
BELOW_MIN: Final = "below min"
ABOVE_MAX: Final = "above max"
# So many stuck queues are sent to every task; more are joined by sorting.
_SENT: Final = 100_000
_SORTED: Final = "merge"


@dataclass(frozen=True, slots=True)
class Frames:
    """`queues`, `topics` and `groups` are of each group; the columns are in docs/offset-report.md."""

    queues: DataFrame
    topics: DataFrame
    groups: DataFrame
    clusters: DataFrame
    unused: DataFrame
    # The queues themselves.
    ends: DataFrame
    over_time: DataFrame

    def release(self) -> None:
        """Give back what was kept in memory."""
        for frame in (self.queues, self.topics, self.groups):
            frame.unpersist()


def analyse(spark: SparkSession, files: Sequence[SnapshotFile], filters: Filters = ALL) -> Frames:
    """`files` are the history, oldest first, at least one."""
    whole = _read(spark, files[-1:])
    newest = filters.snapshot(whole)
    before = _read(spark, files[-2:-1]) if len(files) > 1 else whole.limit(0)
    queues = _with_since(_measured(newest, before).persist(), spark, files)
    topics = _topics(queues).persist()
    groups = _groups(queues, newest, before).persist()
    return Frames(
        queues=queues,
        topics=topics,
        groups=groups,
        clusters=_clusters(groups, newest, before),
        unused=_unused(newest, before, whole),
        ends=_produced(newest, before),
        over_time=_over_time(filters.offsets(_read(spark, spread(list(files), POINTS)))),
    )


def _read(spark: SparkSession, files: Sequence[SnapshotFile]) -> DataFrame:
    from pyspark.sql import functions as f

    # With a schema Spark need not open a file to plan.
    reader = spark.read.schema(ddl())
    frame = reader.parquet(*(str(file.path.absolute()) for file in files))
    return frame.withColumn("takenAt", f.unix_millis("takenAt"))


def inline(
    spark: SparkSession, rows: Sequence[tuple[Any, ...]], columns: Mapping[str, str]
) -> DataFrame:
    """A small frame that the JVM makes itself: one of Python's would need Python on executors."""
    from pyspark.sql import functions as f

    names = list(columns)
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    fields = ", ".join(f"{name}: {kind}" for name, kind in columns.items())
    value = f.from_json(f.lit(text), f"array<struct<{fields}>>")
    return spark.range(1).select(f.inline(value))


def backlog(maximum: Any, committed: Any, minimum: Any) -> Any:
    """Messages to read; those that are deleted do not count."""
    from pyspark.sql import functions as f

    return f.greatest(f.lit(0), maximum - f.greatest(committed, minimum))


def _measured(newest: DataFrame, before: DataFrame) -> DataFrame:
    """Each group in each queue, and how it changed since the snapshot before."""
    from pyspark.sql import functions as f

    old = before.where("consumerGroup is not null").select(
        *KEY,
        f.col("askedAt").alias("oldAskedAt"),
        f.col("committed").alias("oldCommitted"),
        f.col("maxOffset").alias("oldMax"),
        f.col("minOffset").alias("oldMin"),
    )
    groups = newest.where("consumerGroup is not null")
    joined = groups.join(old.hint(_SORTED), list(KEY), "left")
    seconds = (f.unix_millis("askedAt") - f.unix_millis("oldAskedAt")) / 1000
    rates = joined.withColumns(
        {
            "backlog": backlog(f.col("maxOffset"), f.col("committed"), f.col("minOffset")),
            "oldBacklog": backlog(f.col("oldMax"), f.col("oldCommitted"), f.col("oldMin")),
            "inFlight": f.when(
                f.col("pulled").isNotNull(),
                f.greatest(f.lit(0), f.col("pulled") - f.col("committed")),
            ),
            # A group that was moved back has no rate.
            "consumeRate": f.when(
                (seconds > 0) & (f.col("committed") >= f.col("oldCommitted")),
                (f.col("committed") - f.col("oldCommitted")) / seconds,
            ),
            "produceRate": f.when(
                (seconds > 0) & (f.col("maxOffset") >= f.col("oldMax")),
                (f.col("maxOffset") - f.col("oldMax")) / seconds,
            ),
            "remark": f.when(f.col("committed") < f.col("minOffset"), BELOW_MIN).when(
                f.col("committed") > f.col("maxOffset"), ABOVE_MAX
            ),
        }
    )
    stuck = (
        (f.col("backlog") > 0)
        & (f.col("oldBacklog") > 0)
        & (f.col("committed") == f.col("oldCommitted"))
    )
    return rates.withColumns(
        {
            "drainSeconds": _drain("backlog", "consumeRate", "produceRate"),
            "stuck": f.coalesce(stuck, f.lit(False)),
            "stuckSince": f.lit(None).cast("bigint"),
            "lastReadAt": f.unix_millis("lastReadAt"),
            "lastConsumedAt": f.unix_millis("lastConsumedAt"),
        }
    ).drop("askedAt", "oldAskedAt", "oldCommitted", "oldMax", "oldMin", "oldBacklog")


def _drain(waiting: str, consume: str, produce: str) -> Any:
    """Seconds until nothing is left at this pace; null when that is never, or no pace is known."""
    from pyspark.sql import functions as f

    gain = f.col(consume) - f.col(produce)
    return f.when(f.col(waiting) == 0, f.lit(0.0)).when(gain > 0, f.col(waiting) / gain)


def _with_since(queues: DataFrame, spark: SparkSession, files: Sequence[SnapshotFile]) -> DataFrame:
    """`stuckSince`: the first snapshot from which on a queue had this offset and a backlog all the time.

    `queues` are kept in memory, and what is returned is so in their place.
    """
    from pyspark.sql import functions as f

    held = queues.where("stuck").select(*KEY, f.col("committed").alias("held"))
    count = held.count()
    if not count:
        return queues
    since = _since(held, count, spark, files)
    found = queues.drop("stuckSince").join(_sized(since, count), list(KEY), "left").persist()
    found.count()
    queues.unpersist()
    return found


def _since(
    held: DataFrame, count: int, spark: SparkSession, files: Sequence[SnapshotFile]
) -> DataFrame:
    from pyspark.sql import functions as f

    pairs = list(pairwise(file.taken for file in files))
    follows = inline(spark, pairs, {"takenAt": "bigint", "nextAt": "bigint"})
    past = _read(spark, files).where("consumerGroup is not null")
    past = past.select(*KEY, "takenAt", "committed", "minOffset", "maxOffset")
    stood = (f.col("committed") == f.col("held")) & (
        backlog(f.col("maxOffset"), f.col("committed"), f.col("minOffset")) > 0
    )
    return (
        past.join(_sized(held, count), list(KEY))
        .join(f.broadcast(follows), "takenAt", "left")
        .groupBy(*KEY)
        .agg(
            f.coalesce(f.max(f.when(~stood, f.col("nextAt"))), f.min("takenAt")).alias("stuckSince")
        )
    )


def _sized(frame: DataFrame, rows: int) -> DataFrame:
    """The frame with how a join is to be done that has so many rows on this side."""
    from pyspark.sql import functions as f

    return f.broadcast(frame) if rows <= _SENT else frame.hint(_SORTED)


def _topics(queues: DataFrame) -> DataFrame:
    """Each group in each topic of a cluster."""
    from pyspark.sql import functions as f

    sums = queues.groupBy("cluster", "consumerGroup", "topic").agg(
        f.sum("backlog").alias("backlog"),
        f.sum("inFlight").alias("inFlight"),
        f.max("delayMillis").alias("delayMillis"),
        f.sum("consumeRate").alias("consumeRate"),
        f.sum("produceRate").alias("produceRate"),
        f.count("*").alias("queues"),
        f.max("backlog").alias("largestBacklog"),
        f.sum(f.col("stuck").cast("int")).alias("stuckQueues"),
        f.min("stuckSince").alias("stuckSince"),
        f.count("remark").alias("outOfRange"),
        f.max("lastConsumedAt").alias("lastConsumedAt"),
        f.max("members").alias("members"),
    )
    # 1: all queues alike; the number of queues: everything is in one of them.
    skew = f.when(
        f.col("backlog") > 0, f.col("largestBacklog") * f.col("queues") / f.col("backlog")
    )
    return sums.withColumns(
        {"skew": skew, "drainSeconds": _drain("backlog", "consumeRate", "produceRate")}
    )


def _groups(queues: DataFrame, newest: DataFrame, before: DataFrame) -> DataFrame:
    """Each group of a cluster with its retry topics and dead letters."""
    from pyspark.sql import functions as f

    is_retry = f.col("topic").startswith(RETRY)
    sums = queues.groupBy("cluster", "consumerGroup").agg(
        f.sum("backlog").alias("backlog"),
        f.sum(f.when(is_retry, f.col("backlog"))).alias("retryRead"),
        f.max("delayMillis").alias("delayMillis"),
        f.sum("inFlight").alias("inFlight"),
        f.sum("consumeRate").alias("consumeRate"),
        f.sum("produceRate").alias("produceRate"),
        f.sum(f.col("stuck").cast("int")).alias("stuckQueues"),
        f.min("stuckSince").alias("stuckSince"),
        f.count("remark").alias("outOfRange"),
        f.max("lastConsumedAt").alias("lastConsumedAt"),
        f.max("members").alias("members"),
        f.max("subscriptionsDiffer").alias("subscriptionsDiffer"),
    )
    keys = ["cluster", "consumerGroup"]
    dead = _stored(newest, DEAD, "deadLetters", "deadEnd")
    old = _stored(before, DEAD, "oldDead", "oldEnd").drop("oldDead")
    retry = _stored(newest, RETRY, "retryStored", "retryEnd").drop("retryEnd")
    joined = sums.join(dead, keys, "full").join(old, keys, "left").join(retry, keys, "left")
    return joined.withColumns(
        {
            "backlog": f.coalesce("backlog", f.lit(0)),
            # Nobody has an offset in it yet: everything in it is to be read.
            "retryBacklog": f.coalesce("retryRead", "retryStored", f.lit(0)),
            "deadLetters": f.coalesce("deadLetters", f.lit(0)),
            "deadLetterGrowth": f.col("deadEnd") - f.col("oldEnd"),
            "drainSeconds": _drain("backlog", "consumeRate", "produceRate"),
        }
    ).drop("retryRead", "retryStored", "deadEnd", "oldEnd")


def _stored(rows: DataFrame, prefix: str, held: str, end: str) -> DataFrame:
    """Messages in a group's own topics, and the sum of these topics' ends."""
    from pyspark.sql import functions as f

    own = rows.where(f.col("consumerGroup").isNull() & f.col("topic").startswith(prefix))
    return own.groupBy(
        "cluster", f.substring("topic", len(prefix) + 1, 1000).alias("consumerGroup")
    ).agg(f.sum(f.col("maxOffset") - f.col("minOffset")).alias(held), f.sum("maxOffset").alias(end))


def _clusters(groups: DataFrame, newest: DataFrame, before: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    produced = (
        _produced(newest, before)
        .groupBy("cluster")
        .agg(f.sum("produceRate").alias("produceRate"), f.countDistinct("topic").alias("topics"))
    )
    sums = groups.groupBy("cluster").agg(
        f.count("*").alias("groups"),
        f.sum("backlog").alias("backlog"),
        f.max("delayMillis").alias("delayMillis"),
        f.sum("consumeRate").alias("consumeRate"),
        f.sum("retryBacklog").alias("retryBacklog"),
        f.sum("deadLetters").alias("deadLetters"),
        f.sum("stuckQueues").alias("stuckQueues"),
    )
    return produced.join(sums, "cluster", "full").orderBy("cluster")


def _produced(newest: DataFrame, before: DataFrame) -> DataFrame:
    """The queues themselves."""
    from pyspark.sql import functions as f

    old = before.where("consumerGroup is null").select(
        *QUEUE_KEY, f.col("askedAt").alias("oldAskedAt"), f.col("maxOffset").alias("oldMax")
    )
    joined = newest.where("consumerGroup is null").join(old, list(QUEUE_KEY), "left")
    seconds = (f.unix_millis("askedAt") - f.unix_millis("oldAskedAt")) / 1000
    rate = f.when(
        (seconds > 0) & (f.col("maxOffset") >= f.col("oldMax")),
        (f.col("maxOffset") - f.col("oldMax")) / seconds,
    )
    return joined.withColumn("produceRate", rate)


def _unused(newest: DataFrame, before: DataFrame, whole: DataFrame) -> DataFrame:
    """Topics in which no group has an offset, of all groups in `whole`; groups' own topics are none of them."""
    from pyspark.sql import functions as f

    used = whole.where("consumerGroup is not null").select("cluster", "topic").distinct()
    own = f.col("topic").startswith(RETRY) | f.col("topic").startswith(DEAD)
    return (
        _produced(newest, before)
        .where(~own)
        .join(used, ["cluster", "topic"], "left_anti")
        .groupBy("cluster", "topic")
        .agg(
            f.sum(f.col("maxOffset") - f.col("minOffset")).alias("messages"),
            f.sum("produceRate").alias("produceRate"),
        )
        .orderBy(f.desc("messages"), "cluster", "topic")
    )


def _over_time(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.groupBy("takenAt", "cluster", "consumerGroup").agg(
        f.sum(backlog(f.col("maxOffset"), f.col("committed"), f.col("minOffset"))).alias("backlog"),
        f.max("delayMillis").alias("delayMillis"),
    )
