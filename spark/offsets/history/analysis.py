"""What the history says, computed by Arrow: no JVM is needed for it.

Tables are about the newest snapshot and the one before; only "since when" and "over time" look further back,
and only as far and at those columns that they need. Rates are messages a second, times milliseconds since
1970, delays milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.spark.offsets.history.history import History, spread
from trimq.spark.offsets.history.stuck_since import stuck_since
from trimq.spark.offsets.snapshot.filters import ALL, Filters

# Points of a curve over time.
POINTS: Final = 300
QUEUE_KEY: Final = ("cluster", "brokerName", "topic", "queueId")
KEY: Final = (*QUEUE_KEY, "consumerGroup")
BELOW_MIN: Final = "below min"
ABOVE_MAX: Final = "above max"
_TIMES: Final = ("takenAt", "askedAt", "lastReadAt", "lastConsumedAt")
# Figures of a group's queues, aggregated for its topic or its group: column, how, and the new name.
_SUMS: Final = (
    ("backlog", "sum", "backlog"),
    ("inFlight", "sum", "inFlight"),
    ("delayMillis", "max", "delayMillis"),
    ("consumeRate", "sum", "consumeRate"),
    ("produceRate", "sum", "produceRate"),
    ("stuckInt", "sum", "stuckQueues"),
    ("stuckSince", "min", "stuckSince"),
    ("remark", "count", "outOfRange"),
    ("lastConsumedAt", "max", "lastConsumedAt"),
    ("members", "max", "members"),
)


@dataclass(frozen=True, slots=True)
class Frames:
    """`queues`, `topics` and `groups` are of each group; the columns are in docs/offset-report.md."""

    queues: pa.Table
    topics: pa.Table
    groups: pa.Table
    clusters: pa.Table
    unused: pa.Table
    # The queues themselves.
    ends: pa.Table
    over_time: pa.Table


def analyse(history: History, filters: Filters = ALL) -> Frames:
    """`history` has at least one snapshot. SparkSourceError when a file of it is damaged."""
    whole = _in_millis(history.snapshot(history.taken[-1]))
    newest = filters.snapshot(whole)
    before = whole.slice(0, 0)
    if len(history.taken) > 1:
        before = _in_millis(history.snapshot(history.taken[-2]))
    queues = _with_since(_measured(newest, before), history)
    groups = _groups(queues, newest, before, history.taken[0])
    ends = _produced(newest, before)
    return Frames(
        queues=queues.drop_columns(["stuckInt"]),
        topics=_topics(queues, history.taken[0]),
        groups=groups,
        clusters=_clusters(groups, ends),
        unused=_unused(whole, ends),
        ends=ends,
        over_time=_over_time(history, filters),
    )


def _in_millis(rows: pa.Table) -> pa.Table:
    for name in _TIMES:
        at = rows.schema.get_field_index(name)
        if at >= 0:
            value = rows.column(at).cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
            rows = rows.set_column(at, name, value)
    return rows


def with_columns(rows: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """The table with columns added or replaced."""
    for name, value in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.append_column(name, value) if at < 0 else rows.set_column(at, name, value)
    return rows


def backlog(maximum: Any, committed: Any, minimum: Any) -> Any:
    """Messages to read; deleted ones do not count."""
    first = pc.max_element_wise(committed, minimum)
    return pc.max_element_wise(pc.subtract(maximum, first), 0, skip_nulls=False)


def _measured(newest: pa.Table, before: pa.Table) -> pa.Table:
    """Each group in each queue, and how it changed since the previous snapshot."""
    groups = newest.filter(pc.is_valid(newest["consumerGroup"]))
    past = before.filter(pc.is_valid(before["consumerGroup"]))
    rows = _beside(groups, past, KEY, ("askedAt", "committed", "maxOffset", "minOffset"))
    seconds = _seconds(rows)
    committed, maximum, minimum = rows["committed"], rows["maxOffset"], rows["minOffset"]
    waiting = backlog(maximum, committed, minimum)
    waited = backlog(rows["old_maxOffset"], rows["old_committed"], rows["old_minOffset"])
    # A group that was moved back has no rate.
    consumed = _rate(committed, rows["old_committed"], seconds)
    produced = _rate(maximum, rows["old_maxOffset"], seconds)
    stood = pc.and_(pc.greater(waiting, 0), pc.greater(waited, 0))
    stuck = pc.fill_null(pc.and_(stood, pc.equal(committed, rows["old_committed"])), False)
    outside = pc.case_when(
        pc.make_struct(
            pc.fill_null(pc.less(committed, minimum), False),
            pc.fill_null(pc.greater(committed, maximum), False),
        ),
        BELOW_MIN,
        ABOVE_MAX,
    )
    flying = pc.subtract(rows["pulled"], committed)
    return with_columns(
        rows.drop_columns([name for name in rows.column_names if name.startswith("old_")]),
        {
            "backlog": waiting,
            "inFlight": pc.max_element_wise(flying, 0, skip_nulls=False),
            "consumeRate": consumed,
            "produceRate": produced,
            "remark": outside,
            "drainSeconds": _drain(waiting, consumed, produced),
            "stuck": stuck,
            "stuckInt": stuck.cast(pa.int64()),
        },
    ).drop_columns(["askedAt"])


def _beside(rows: pa.Table, past: pa.Table, key: tuple[str, ...], columns: Any) -> pa.Table:
    """The rows with columns of the previous snapshot, as `old_NAME`."""
    old = past.select([*key, *columns]).rename_columns([*key, *(f"old_{one}" for one in columns)])
    return rows.join(old, list(key), join_type="left outer")


def _seconds(rows: pa.Table) -> Any:
    passed = pc.subtract(rows["askedAt"], rows["old_askedAt"])
    seconds = pc.divide(passed.cast(pa.float64()), 1000.0)
    return _where(pc.greater(seconds, 0), seconds)


def _rate(now: Any, before: Any, seconds: Any) -> Any:
    gained = pc.subtract(now, before)
    return _where(pc.greater_equal(gained, 0), pc.divide(gained.cast(pa.float64()), seconds))


def _where(condition: Any, value: Any) -> Any:
    """The value where the condition holds, null elsewhere."""
    return pc.if_else(pc.fill_null(condition, False), value, pa.scalar(None, value.type))


def _drain(waiting: Any, consumed: Any, produced: Any) -> Any:
    """Seconds until nothing is left at this pace; null if that is never, or no pace is known."""
    gain = pc.subtract(consumed, produced)
    left = _where(pc.greater(gain, 0), pc.divide(waiting.cast(pa.float64()), gain))
    return pc.if_else(pc.equal(waiting, 0), pa.scalar(0.0), left)


def _with_since(queues: pa.Table, history: History) -> pa.Table:
    """`stuckSince`, and whether it began before the history did."""
    held = queues.filter(queues["stuck"]).select([*KEY, "committed"])
    if not held.num_rows:
        nothing = pa.nulls(queues.num_rows, pa.int64())
        queues = queues.append_column("stuckSince", nothing)
    else:
        queues = queues.join(stuck_since(held, history), list(KEY), join_type="left outer")
    return _at_least(queues, history.taken[0])


def _at_least(rows: pa.Table, first: int) -> pa.Table:
    began = pc.fill_null(pc.equal(rows["stuckSince"], first), False)
    return rows.append_column("stuckAtLeast", began)


def _summed(rows: pa.Table, key: list[str], sums: Any) -> pa.Table:
    made = rows.group_by(key).aggregate([(column, how) for column, how, _ in sums])
    return made.select([*key, *(f"{column}_{how}" for column, how, _ in sums)]).rename_columns(
        [*key, *(name for _, _, name in sums)]
    )


def _topics(queues: pa.Table, first: int) -> pa.Table:
    """Each group in each topic of a cluster."""
    more = (("queueId", "count", "queues"), ("backlog", "max", "largestBacklog"))
    rows = _summed(queues, ["cluster", "consumerGroup", "topic"], (*_SUMS, *more))
    spread_out = pc.divide(
        pc.multiply(rows["largestBacklog"], rows["queues"]).cast(pa.float64()), rows["backlog"]
    )
    return _at_least(
        with_columns(
            rows,
            {
                # 1: all queues alike; the number of queues: everything is in one of them.
                "skew": _where(pc.greater(rows["backlog"], 0), spread_out),
                "drainSeconds": _drain(rows["backlog"], rows["consumeRate"], rows["produceRate"]),
            },
        ),
        first,
    )


def _groups(queues: pa.Table, newest: pa.Table, before: pa.Table, first: int) -> pa.Table:
    """Each group of a cluster with its retry topics and dead letters."""
    is_retry = pc.starts_with(queues["topic"], RETRY_PREFIX)
    queues = queues.append_column("retryRead", _where(is_retry, queues["backlog"]))
    more = (
        ("retryRead", "sum", "retryRead"),
        ("subscriptionsDiffer", "any", "subscriptionsDiffer"),
    )
    key = ["cluster", "consumerGroup"]
    rows = _summed(queues, key, (*_SUMS, *more))
    dead = _stored(newest, DLQ_PREFIX, "deadLetters", "deadEnd")
    old = _stored(before, DLQ_PREFIX, "oldDead", "oldEnd").drop_columns(["oldDead"])
    retry = _stored(newest, RETRY_PREFIX, "retryStored", "retryEnd").drop_columns(["retryEnd"])
    rows = rows.join(dead, key, join_type="full outer")
    rows = rows.join(old, key, join_type="left outer").join(retry, key, join_type="left outer")
    waiting = rows["backlog"]
    made = with_columns(
        rows,
        {
            "backlog": pc.fill_null(waiting, 0),
            # Nobody has an offset in it yet: everything in it is to be read.
            "retryBacklog": pc.fill_null(pc.coalesce(rows["retryRead"], rows["retryStored"]), 0),
            "deadLetters": pc.fill_null(rows["deadLetters"], 0),
            "deadLetterGrowth": pc.subtract(rows["deadEnd"], rows["oldEnd"]),
            "drainSeconds": _drain(
                pc.fill_null(waiting, 0), rows["consumeRate"], rows["produceRate"]
            ),
        },
    )
    return _at_least(made.drop_columns(["retryRead", "retryStored", "deadEnd", "oldEnd"]), first)


def _stored(rows: pa.Table, prefix: str, held: str, end: str) -> pa.Table:
    """Messages in a group's own topics, and the sum of these topics' ends."""
    queues = pc.is_null(rows["consumerGroup"])
    own = rows.filter(pc.and_(queues, pc.starts_with(rows["topic"], prefix)))
    group = pc.utf8_slice_codeunits(own["topic"], len(prefix))
    count = pc.subtract(own["maxOffset"], own["minOffset"])
    own = with_columns(own, {"consumerGroup": group, "held": count})
    sums = (("held", "sum", held), ("maxOffset", "sum", end))
    return _summed(own, ["cluster", "consumerGroup"], sums)


def _produced(newest: pa.Table, before: pa.Table) -> pa.Table:
    """The queues themselves."""
    queues = newest.filter(pc.is_null(newest["consumerGroup"])).drop_columns(["consumerGroup"])
    past = before.filter(pc.is_null(before["consumerGroup"]))
    rows = _beside(queues, past, QUEUE_KEY, ("askedAt", "maxOffset"))
    rate = _rate(rows["maxOffset"], rows["old_maxOffset"], _seconds(rows))
    return rows.append_column("produceRate", rate)


def _clusters(groups: pa.Table, produced: pa.Table) -> pa.Table:
    sums = (("produceRate", "sum", "produceRate"), ("topic", "count_distinct", "topics"))
    made = _summed(produced, ["cluster"], sums)
    of_groups = (
        ("consumerGroup", "count", "groups"),
        ("backlog", "sum", "backlog"),
        ("delayMillis", "max", "delayMillis"),
        ("consumeRate", "sum", "consumeRate"),
        ("retryBacklog", "sum", "retryBacklog"),
        ("deadLetters", "sum", "deadLetters"),
        ("stuckQueues", "sum", "stuckQueues"),
    )
    rows = made.join(_summed(groups, ["cluster"], of_groups), "cluster", join_type="full outer")
    return rows.sort_by("cluster")


def _unused(whole: pa.Table, produced: pa.Table) -> pa.Table:
    """Topics in which no group of those in `whole` has an offset; without groups' own topics."""
    key = ["cluster", "topic"]
    groups = whole.filter(pc.is_valid(whole["consumerGroup"]))
    own = pc.or_(
        pc.starts_with(produced["topic"], RETRY_PREFIX),
        pc.starts_with(produced["topic"], DLQ_PREFIX),
    )
    count = pc.subtract(produced["maxOffset"], produced["minOffset"])
    rows = produced.append_column("messages", count).filter(pc.invert(own))
    sums = (("messages", "sum", "messages"), ("produceRate", "sum", "produceRate"))
    made = _summed(rows, key, sums).join(groups.select(key), key, join_type="left anti")
    return made.sort_by(
        [("messages", "descending"), ("cluster", "ascending"), ("topic", "ascending")]
    )


def _over_time(history: History, filters: Filters) -> pa.Table:
    columns = ("takenAt", "cluster", "topic", "consumerGroup", "delayMillis")
    offsets = ("committed", "minOffset", "maxOffset")
    key = ["takenAt", "cluster", "consumerGroup"]
    sums = (("backlog", "sum", "backlog"), ("delayMillis", "max", "delayMillis"))
    where = filters.condition()
    rows = _in_millis(history.read(spread(history.taken, POINTS), (*columns, *offsets), where))
    waiting = backlog(rows["maxOffset"], rows["committed"], rows["minOffset"])
    return _summed(rows.append_column("backlog", waiting), key, sums)
