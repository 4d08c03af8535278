"""Continuous reading: Spark keeps the offsets in its checkpoint, in the JSON of `spark.positions`.

A stream's offset is {"version": 1, "queues": {...}}: how far each queue is read. When a batch
begins to read a queue, at the query's first batch or because the queue is new, its end has a second
table, `begin`: Spark does not record where a query began, and a batch that is repeated after a
crash must begin at the same place.

Spark asks `latestOffset` where to end, from where and with which limit, since 4.2; without that a
restarted query could not be limited, nor could a queue be missing for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from trimq.spark.errors import check_version, sentences
from trimq.spark.options.positions import Offsets, QueueKey, read_offsets, write_offsets
from trimq.spark.options.values import ReadOptions
from trimq.spark.parts import RangesPartition
from trimq.spark.planning.grouping import group
from trimq.spark.planning.limits import share
from trimq.spark.planning.pacing import Pacing
from trimq.spark.planning.ranges import begun, ranges
from trimq.spark.planning.resolving import check_assigned, resolve
from trimq.spark.planning.stream_watch import Watch
from trimq.spark.planning.views import View
from trimq.spark.progress import GroupProgress
from trimq.spark.queues import QueueEnds, Range
from trimq.spark.reading.outages import lost
from trimq.spark.reading.partition import read_ranges

VERSION: Final = 1


class RocketMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A query's view of its queues. Lives in one process of the driver while the query runs."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names
        self._initial: dict[str, Any] | None = None
        self._target: Offsets | None = None
        self._watch = Watch(options)
        self._view: View | None = None
        self._planned: dict[str, Any] | None = None
        self._progress: GroupProgress | None = None
        self._pacing = Pacing(options.triggers)

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.limit
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def initialOffset(self) -> dict[str, Any]:
        # Spark asks at every trigger until there is a first batch.
        if self._initial is None:
            with sentences():
                starts = self._watch.first(self._starts)
            self._initial = {"initial": True, "version": VERSION, "queues": write_offsets(starts)}
        return self._initial

    def _starts(self, view: View) -> Offsets:
        options, cluster = self._options, self._watch.cluster
        bounds = view.bounds
        check_assigned(options.queues, bounds)
        cluster.check(options.pulls.expression, options.pulls.group, bounds)
        starts = resolve(cluster, options.starting, "latest", bounds)
        return begun(starts, options.starting.offsets, bounds, options.pulls.fail_on_data_loss)

    def prepareForTriggerAvailableNow(self) -> None:
        with sentences():
            view = self._watch.complete()
        self._target = {key: at.next for key, at in view.bounds.items()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        with sentences():
            queues = _queues(start)
            view = self._watch.now(queues)
            if self._target is not None and view.waits:
                view = self._awaited(queues, view)
            self._view = view
            # Spark asks when the batch that ended at `start` is finally done. Its own `commit`
            # comes only when there is a next batch, and until then all of the last one would look
            # like lag.
            if not start.get("initial"):
                self._report(queues, view)
            end = self._end(start, view.bounds, most)
            if end is start:
                self._watch.rest()
            self._planned = end
            return end

    def _awaited(self, known: Offsets, view: View) -> View:
        """A query that reads once does not end without what is away while that may come back."""
        waits = view.waits
        view = self._watch.complete(known)
        assert self._target is not None
        for key in waits - self._target.keys():
            if key in view.bounds:
                self._target[key] = view.bounds[key].next
        return view

    def reportLatestOffset(self) -> dict[str, Any] | None:
        # Spark asks in each trigger, after `latestOffset`: that has just looked.
        if self._view is None:
            return None
        latest = _json({key: at.next for key, at in self._view.bounds.items()})
        # The only place in a query's progress to show what it waits for.
        return latest | {"away": self._view.away} if self._view.away else latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        options = self._options
        starts = _queues(start) | _begin(end)
        ends = {key: to for key, to in _queues(end).items() if starts.get(key, 0) < to}

        def decide(view: View) -> list[Range]:
            return ranges(starts, ends, view.bounds, options.pulls.fail_on_data_loss)

        with sentences():
            view = self._view
            if view is not None and self._planned == end and ends.keys() <= view.bounds.keys():
                found = decide(view)
            else:
                # The batch was planned by a process that no longer exists.
                found = self._watch.batch(ends, decide)
        groups = group(found, options.least_partitions, options.most_per_partition)
        return [RangesPartition(parts) for parts in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, RangesPartition):
            with sentences():
                yield from read_ranges(partition.parts, self._options, self._names)

    def _report(self, offsets: Offsets, view: View) -> None:
        """Write the progress to the group that shows it, if there is one."""
        name = self._options.commit_group
        if name is None:
            return
        if self._progress is None:
            self._progress = GroupProgress(self._watch.cluster.server_requests, name)
        self._progress.commit(offsets, view.masters)

    def stop(self) -> None:
        self._watch.close()

    def _end(
        self, start: dict[str, Any], bounds: Mapping[QueueKey, QueueEnds], most: int | None
    ) -> dict[str, Any]:
        """Where the batch that begins at `start` ends; `start` itself when nothing is new."""
        queues = _queues(start)
        begin: Offsets = dict(queues) if start.get("initial") else {}
        backlog: Offsets = {}
        for key, at in bounds.items():
            to = self._up_to(key, at)
            known = queues.get(key)
            if known is None:
                if to <= at.first:
                    continue
                begin[key] = queues[key] = at.first
            elif known > at.next and at.slave:
                continue
            elif known > at.next:
                self._shrunk(key, known, at)
                begin[key] = queues[key] = at.first
            if to > queues[key]:
                backlog[key] = to - queues[key]
        if not begin and not backlog:
            return start
        # A query that reads what exists and ends would wait for ever.
        if self._target is None and self._pacing.holds(sum(backlog.values()), bool(begin)):
            return start
        for key, count in share(backlog, most, queues).items():
            queues[key] += count
        return _json(queues, begin)

    def _up_to(self, key: QueueKey, at: QueueEnds) -> int:
        """How far to read: a query that reads once stops at what was there when it began."""
        return at.next if self._target is None else min(at.next, self._target.get(key, 0))

    def _shrunk(self, key: QueueKey, known: int, at: QueueEnds) -> None:
        """A queue ends before what was read from it: its topic was deleted and created again."""
        gone = Range(*key, at.addr, at.next, known)
        why = f"the queue ends at {at.next} now; was the topic deleted and created again?"
        lost(gone, why, self._options.pulls.fail_on_data_loss)


def _json(queues: Offsets, begin: Offsets | None = None) -> dict[str, Any]:
    value: dict[str, Any] = {"version": VERSION, "queues": write_offsets(queues)}
    return value | {"begin": write_offsets(begin)} if begin else value


def _queues(offset: dict[str, Any]) -> Offsets:
    check_version(offset, VERSION)
    return read_offsets(offset["queues"])


def _begin(offset: dict[str, Any]) -> Offsets:
    return read_offsets(offset.get("begin", {}))
