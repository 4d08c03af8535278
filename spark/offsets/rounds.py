"""Rounds of a report: ask, add to the history, compute, write; once or again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import click

from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.offsets.api import add, seen
from trimq.spark.offsets.history.analysis import Frames, analyse
from trimq.spark.offsets.history.history import History
from trimq.spark.offsets.history.results import Report, collect
from trimq.spark.offsets.showing import files
from trimq.spark.offsets.showing.serving import MetricsServer, listening
from trimq.spark.offsets.snapshot.cluster import Snapshot
from trimq.spark.offsets.snapshot.filters import ALL, Filters

# How many details that could not be asked are named.
_NOTES: Final = 5
_PASSED: Final = 1
_NOT_ASKED: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where results go; None: nowhere."""

    html: Path | None
    json: str | None
    prometheus: str | None
    parquet: Path | None
    csv: Path | None
    quiet: bool
    top: int
    max_lag: int | None
    max_delay: float | None
    filters: Filters = ALL
    # HOST:PORT on which to serve metrics; whether to include metrics of each queue.
    listen: str | None = None
    by_queue: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """`watch`: seconds from the beginning of one round to the next, None: once. `rounds`: how many."""

    watch: float | None
    rounds: int | None


class Reporter:
    """`take` makes a snapshot; None: the history is all there is."""

    def __init__(
        self,
        take: Callable[[], Snapshot] | None,
        folder: Path,
        wanted: Wanted,
        schedule: Schedule,
        keep: int | None = None,
    ) -> None:
        """`keep`: milliseconds after which snapshots are deleted; None: never."""
        self._take = take
        self._folder = folder
        self._wanted = wanted
        self._schedule = schedule
        self._server: MetricsServer | None = None
        self._keep = keep

    def run(self) -> int:
        """The last round's exit code. SparkSourceError, OSError; PySpark's errors if brokers are asked by Spark."""
        with listening(self._wanted.listen) as server:
            if server is not None:
                click.echo(f"metrics are at {server.url}", err=True)
            self._server = server
            return self._rounds()

    def _rounds(self) -> int:
        done = 0
        while True:
            began = monotonic()
            code = self._round()
            done += 1
            every = self._schedule.watch
            if every is None or done == self._schedule.rounds:
                return code
            took = monotonic() - began
            if took > every:
                click.echo(
                    f"this round took {took:.1f} s, longer than the {every:g} s of --watch:"
                    " the next one begins late",
                    err=True,
                )
            sleep(max(0.0, every - took))

    def _round(self) -> int:
        problems = self._ask()
        found = seen(self._folder) if problems is not None else None
        code = _NOT_ASKED if found is None else self._compute(found)
        for problem in problems or ():
            click.echo(f"not asked: {problem}", err=True)
        return _NOT_ASKED if problems else code

    def _ask(self) -> list[str] | None:
        """Add a snapshot; returns what is missing in it. None: no snapshot this time, another round may get one."""
        if self._take is None:
            return []
        try:
            with sentences():
                return self._append(self._take())
        except SparkSourceError as error:
            if self._schedule.watch is None:
                raise
            click.echo(f"no snapshot in this round: {error}", err=True)
            return None

    def _append(self, taken: Snapshot) -> list[str]:
        for note in taken.notes[:_NOTES]:
            click.echo(f"not known: {note}", err=True)
        if len(taken.notes) > _NOTES:
            click.echo(f"not known: {len(taken.notes) - _NOTES} details more", err=True)
        add(self._folder, taken, self._keep)
        return taken.problems

    def _compute(self, found: History) -> int:
        frames = analyse(found, self._wanted.filters)
        made = collect(frames, found.taken, self._wanted.top)
        groups, topics = frames.groups["consumerGroup"], frames.ends["topic"]
        filters = self._wanted.filters
        for sentence in filters.without_match(groups.to_pylist(), topics.to_pylist()):
            click.echo(sentence, err=True)
        _write(made, frames, self._wanted, self._server)
        passed = list(made.passed(self._wanted.max_lag, self._wanted.max_delay))
        for sentence in passed:
            click.echo(sentence, err=True)
        return _PASSED if passed else 0


def _write(made: Report, frames: Frames, wanted: Wanted, server: MetricsServer | None) -> None:
    from trimq.spark.offsets.showing.page import page
    from trimq.spark.offsets.showing.terminal import console, show

    if not wanted.quiet and "-" not in (wanted.json, wanted.prometheus):
        show(made, console(), wanted.top)
    if wanted.html is not None:
        files.write_text(str(wanted.html), [page(made)])
    if wanted.json is not None:
        files.write_text(wanted.json, [files.report_json(made)])
    if wanted.prometheus is not None or server is not None:
        _write_metrics(made, frames, wanted, server)
    if wanted.parquet is not None:
        files.write_tables(frames, wanted.parquet, "parquet")
    if wanted.csv is not None:
        files.write_tables(frames, wanted.csv, "csv")


def _write_metrics(
    made: Report, frames: Frames, wanted: Wanted, server: MetricsServer | None
) -> None:
    from trimq.spark.offsets.showing import prometheus

    parts: Iterable[str] = prometheus.text(made, frames, wanted.by_queue)
    if server is not None:
        page = "".join(parts)
        parts = [page]
        server.show(page.encode(), prometheus.CONTENT_TYPE)
    if wanted.prometheus is not None:
        files.write_text(wanted.prometheus, parts)
