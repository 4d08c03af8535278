"""Since when queues have been stuck: the history is read backwards, as far as needed."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.spark.offsets.history.history import History

_QUEUE: Final = ("cluster", "brokerName", "topic", "queueId", "consumerGroup")
_OFFSETS: Final = ("takenAt", "committed", "minOffset", "maxOffset")


def stuck_since(held: pa.Table, history: History) -> pa.Table:
    """The first snapshot since which each queue has always had this offset and a backlog.

    `held` has queues, groups and where they are (`committed`); what is returned has `stuckSince` instead,
    milliseconds since 1970. Snapshots without the queue count as if nothing had changed in them.
    """
    key = list(_QUEUE)
    open_ = held.rename_columns([*key, "held"])
    found: list[pa.Table] = []
    earliest = open_.select(key).append_column(
        "first", pa.repeat(pa.scalar(history.taken[-1]), open_.num_rows)
    )
    filters = pc.field("consumerGroup").isin(pc.unique(open_["consumerGroup"]))
    filters &= pc.field("topic").isin(pc.unique(open_["topic"]))
    for rows in history.backwards((*_QUEUE, *_OFFSETS), filters):
        looked = _looked(rows.join(open_, key, join_type="inner"))
        if not looked.num_rows:
            continue
        earliest = _earlier(earliest, looked)
        moved = looked.filter(pc.is_valid(looked["moved"]))
        if moved.num_rows:
            found.append(moved.select([*key, "moved"]))
            open_ = open_.join(moved.select(key), key, join_type="left anti")
            earliest = earliest.join(moved.select(key), key, join_type="left anti")
            if not open_.num_rows:
                break
    ended = _after(found, history.taken)
    rest = earliest.rename_columns([*key, "stuckSince"]).combine_chunks()
    return pa.concat_tables([rest, *ended]).select([*key, "stuckSince"])


def _looked(rows: pa.Table) -> pa.Table:
    """By queue: the first of these snapshots that has it, and the last one in which it was not stuck."""
    start = pc.max_element_wise(rows["committed"], rows["minOffset"])
    waits = pc.greater(rows["maxOffset"], start)
    stood = pc.fill_null(pc.and_(waits, pc.equal(rows["committed"], rows["held"])), False)
    taken = rows["takenAt"].cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
    moved = pc.if_else(stood, pa.scalar(None, pa.int64()), taken)
    rows = rows.select(list(_QUEUE)).append_column("taken", taken).append_column("moved", moved)
    made = rows.group_by(list(_QUEUE)).aggregate([("taken", "min"), ("moved", "max")])
    return made.select([*_QUEUE, "taken_min", "moved_max"]).rename_columns(
        [*_QUEUE, "taken", "moved"]
    )


def _earlier(known: pa.Table, looked: pa.Table) -> pa.Table:
    rows = known.join(looked.select([*_QUEUE, "taken"]), list(_QUEUE), join_type="left outer")
    first = pc.min_element_wise(rows["first"], rows["taken"])
    return rows.select(list(_QUEUE)).append_column("first", first)


def _after(found: list[pa.Table], taken: list[int]) -> list[pa.Table]:
    """The snapshot after the one in which a queue was not stuck yet."""
    made = []
    for rows in found:
        behind = [taken[bisect_right(taken, at)] for at in rows["moved"].to_pylist()]
        made.append(
            rows.select(list(_QUEUE)).append_column("stuckSince", pa.array(behind, pa.int64()))
        )
    return made
