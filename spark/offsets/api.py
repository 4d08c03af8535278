"""The reporter for Python: `trimq.spark.offsets.report(...)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import pyarrow as pa

from trimq.admin.connecting.signing import AccessKeys
from trimq.remoting.tls.contexts import ClientTls
from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.offsets.history.analysis import Frames, analyse
from trimq.spark.offsets.history.compacting import tend
from trimq.spark.offsets.history.history import History, append, look
from trimq.spark.offsets.history.results import Report, collect
from trimq.spark.offsets.snapshot.cluster import ClusterSource, Snapshot
from trimq.spark.offsets.snapshot.filters import Filters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SPAN: Final = re.compile(r"(\d+)([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
Take = Callable[[], Snapshot]


class Asking(TypedDict, total=False):
    """How brokers are asked: see `ClusterSource`, which has the defaults."""

    rate: float
    concurrency: int
    exact: int
    ask_clients: bool
    timeout: float
    keys: AccessKeys | None
    tls: ClientTls | None


@dataclass(frozen=True, slots=True)
class OffsetReport:
    """What a report says: whole tables as Arrow (docs/offset-report.md has their columns), and the
    rows to look at first, in `rows`. `problems`: a sentence for each broker that is missing;
    `notes`: for each detail that could not be asked.
    """

    tables: Frames
    rows: Report
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def groups(self) -> pa.Table:
        """Each group of a cluster."""
        return self.tables.groups

    @property
    def topics(self) -> pa.Table:
        """Each group in each topic."""
        return self.tables.topics

    @property
    def queues(self) -> pa.Table:
        """Each group in each queue."""
        return self.tables.queues

    @property
    def unused(self) -> pa.Table:
        """Topics that nobody consumes."""
        return self.tables.unused

    @property
    def over_time(self) -> pa.Table:
        """Backlog and delay of each group in up to 300 snapshots."""
        return self.tables.over_time

    def frame(self, spark: SparkSession, name: str) -> DataFrame:
        """One of the tables in Spark: `groups`, `topics`, `queues`, `clusters`, `unused`, `ends` or `over_time`."""
        known = Frames.__slots__
        if name not in known:
            raise SparkSourceError(f"there is no table {name!r}; there are: {', '.join(known)}")
        return spark.createDataFrame(getattr(self.tables, name))

    def passed(self, max_lag: int | None = None, max_delay: float | None = None) -> Iterator[str]:
        """A sentence for each group that is more messages, or more seconds, behind than that."""
        return self.rows.passed(max_lag, max_delay)

    def html(self) -> str:
        """The page with plots, which loads nothing."""
        from trimq.spark.offsets.showing.page import page

        return page(self.rows)

    def write_html(self, path: str | Path) -> None:
        """The same in a file, which is written completely or not at all."""
        from trimq.spark.offsets.showing.files import write_text

        write_text(str(path), [self.html()])


def report(
    namesrv: str | None = None,
    *,
    store: str | Path | None = None,
    history: str | Path | None = None,
    keep: str | timedelta | None = None,
    groups: str | Sequence[str] = (),
    topics: str | Sequence[str] = (),
    spark: SparkSession | None = None,
    top: int = 20,
    **asking: Unpack[Asking],
) -> OffsetReport:
    """Ask a cluster (or read a store directory, or neither), add that to the history, and report on
    it.

    Options are those of `trimq offsets report`, `keep` is `30d` and the like or a timedelta, `asking` is for
    clusters. With `spark`, executors of that session ask the brokers; without it no JVM is needed. Without `history`
    nothing is kept. SparkSourceError says in a sentence what cannot be done; OSError when files cannot be written.
    """
    if namesrv is not None and store is not None:
        raise SparkSourceError("give namesrv or store, not both")
    if namesrv is None and store is None and history is None:
        raise SparkSourceError("say what to report on: namesrv, store or history")
    if keep is not None and (history is None or (namesrv is None and store is None)):
        raise SparkSourceError(
            "keep shortens a history when a snapshot is added to it: give history, and namesrv or store"
        )
    kept = None if keep is None else millis_of(keep)
    filters = Filters(_names(groups), _names(topics))
    take: Take | None = None
    if namesrv is not None:
        source = ClusterSource(name_servers=namesrv, details=filters, **asking)
        take = taking(source, spark)
    elif store is not None:
        from trimq.spark.offsets.snapshot import store_folder

        folder_source = store_folder.FolderSource(Path(store))
        take = lambda: store_folder.snapshot(folder_source)  # noqa: E731
    if history is not None:
        return _reported(take, Path(history), kept, filters, top)
    with TemporaryDirectory(prefix="trimq-offsets-") as folder:
        return _reported(take, Path(folder), kept, filters, top)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def taking(source: ClusterSource, spark: SparkSession | None) -> Take:
    """What takes snapshots of a cluster: this process, or executors."""
    if spark is None:
        from trimq.spark.offsets.snapshot import cluster

        return lambda: cluster.snapshot(source)
    from trimq.spark.offsets.snapshot import spreading

    return lambda: spreading.snapshot(source, spark)


def _reported(
    take: Take | None, folder: Path, keep: int | None, filters: Filters, top: int
) -> OffsetReport:
    with sentences():
        taken = None if take is None else take()
        if taken is not None:
            add(folder, taken, keep)
        found = seen(folder)
        tables = analyse(found, filters)
    rows = collect(tables, found.taken, top)
    if taken is None:
        return OffsetReport(tables, rows)
    return OffsetReport(tables, rows, taken.problems, taken.notes)


def add(folder: Path, taken: Snapshot, keep: int | None) -> None:
    """Add a snapshot to a history, and maintain that. SparkSourceError when the snapshot is empty."""
    if not taken.table.num_rows:
        raise SparkSourceError(
            "there are no topics to report on: " + "; ".join(taken.problems or ["none match"])
        )
    added = append(folder, taken.table)
    tend(folder, added.last, keep)


def seen(folder: Path) -> History:
    """A history that has at least one snapshot."""
    found = look(folder)
    if not found.taken:
        raise SparkSourceError(f"there is no snapshot in {folder}")
    return found


def millis_of(span: str | timedelta) -> int:
    """Milliseconds in `45m`, `12h`, `30d`, `2w`; SparkSourceError for other texts."""
    if isinstance(span, timedelta):
        return int(span.total_seconds() * 1000)
    match = _SPAN.fullmatch(span)
    if match is None or not int(match[1]):
        raise SparkSourceError(f"{span!r} is not a span of time: write 45m, 12h, 30d or 2w")
    return int(match[1]) * _UNITS[match[2]] * 1000
