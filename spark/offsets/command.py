"""The command `trimq offsets report`, which `spark-submit spark/offset_report.py` is, too."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark.offsets.cluster import Snapshot
    from spark.offsets.history import SnapshotFile
    from spark.offsets.report import Report

EXAMPLES: Final = """
\b
Examples:
  trimq offsets report --namesrv 127.0.0.1:9876
      how things stand, as tables
  trimq offsets report --namesrv 127.0.0.1:9876 --history offsets --html offsets.html
      add a snapshot to the history; rates, stuck queues and curves come from it
  trimq offsets report --history offsets --json -
      what the history says, without asking anybody
  trimq offsets report --store /home/rocketmq/store
      from a store directory, whether its broker runs or not
  trimq offsets report --namesrv 127.0.0.1:9876 --max-lag 10000 --max-delay 60 --quiet
      for cron: says on standard error which groups are too far behind

\b
Exit code: 0 when all is well, 1 when --max-lag or --max-delay was passed, 2 for wrong usage or when
a server cannot be asked.
"""
# How many details that could not be asked are named.
_NOTES: Final = 5
# Nothing of Spark's own on the terminal, and no listening web page.
_CONFIG: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
}


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


class Failed(click.ClickException):
    """The report cannot be made; the text is one sentence."""

    exit_code = 2


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--namesrv", metavar="HOST:PORT;...", help="Take a snapshot of this cluster.")
@click.option("--store", type=click.Path(path_type=Path), help="Or of this store directory.")
@click.option(
    "--history",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder that keeps snapshots, one cluster's. Without it, nothing is kept.",
)
@click.option("--group", "groups", multiple=True, help="Only these groups; * and ? are wild.")
@click.option("--topic", "topics", multiple=True, help="Only these topics; * and ? are wild.")
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    default=200,
    show_default=True,
    help="Requests a second to one broker at most.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Brokers that are asked at once; one request at a time each.",
)
@click.option(
    "--exact-delays",
    "exact",
    type=click.IntRange(0),
    default=500,
    show_default=True,
    help="For how many groups' topics on each broker to ask for exact delays.",
)
@click.option("--clients/--no-clients", default=True, help="Ask consumers which queues they have.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=5, show_default=True)
@click.option("--access-key", envvar="MQADMIN_ACCESS_KEY")
@click.option("--secret-key", envvar="MQADMIN_SECRET_KEY")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="A page with plots.")
@click.option("--json", metavar="FILE", help="One object; - is standard output.")
@click.option("--prometheus", metavar="FILE", help="Prometheus's text format; - too.")
@click.option("--parquet", type=click.Path(path_type=Path), help="A folder of whole tables.")
@click.option("--csv", type=click.Path(path_type=Path), help="The same as CSV.")
@click.option("--quiet", is_flag=True, help="No tables on the terminal.")
@click.option(
    "--top", type=click.IntRange(1), default=20, show_default=True, help="Rows of tables."
)
@click.option("--max-lag", type=click.IntRange(0), help="Messages that a group may be behind.")
@click.option("--max-delay", type=click.FloatRange(0), help="Seconds that a group may be behind.")
@click.option("--watch", type=click.FloatRange(0, min_open=True), help="Again every N seconds.")
@click.option("--rounds", type=click.IntRange(1), help="End --watch after so many.")
@click.option("--master", help="Spark's master.  [default: local[*], or what spark-submit says]")
def report(master: str | None, watch: float | None, rounds: int | None, **given: Any) -> None:
    """How far consumer groups are behind, since when, and how fast that changes."""
    take = _source(given)
    names = Wanted.__dataclass_fields__
    wanted = Wanted(**{name: value for name, value in given.items() if name in names})
    try:
        with _folder(given["history"]) as history, _failures():
            code = _rounds(take, history, wanted, master, watch, rounds)
    except KeyboardInterrupt:
        code = 0
    raise SystemExit(code)


def _source(given: dict[str, Any]) -> Callable[[], Snapshot] | None:
    """What takes a snapshot; None when the history alone is asked for."""
    namesrv, store = given["namesrv"], given["store"]
    if namesrv and store:
        raise Failed("give --namesrv or --store, not both")
    if not (namesrv or store or given["history"]):
        raise Failed("say what to report on: --namesrv HOST:PORT, --store DIR or --history DIR")
    for name in ("pyspark", "pyarrow", *(["plotly"] if given["html"] else [])):
        _check_installed(name)
    if namesrv:
        from admin.signing import AccessKeys
        from spark.offsets import cluster

        keys = (given["access_key"], given["secret_key"])
        source = cluster.ClusterSource(
            name_servers=namesrv,
            groups=given["groups"],
            topics=given["topics"],
            concurrency=given["concurrency"],
            rate=given["rate"],
            timeout=given["timeout"],
            exact=given["exact"],
            ask_clients=given["clients"],
            keys=AccessKeys(*keys) if all(keys) else None,
        )
        return lambda: cluster.snapshot(source)
    if store:
        from spark.offsets import store_folder

        folder = store_folder.FolderSource(store)
        return lambda: store_folder.snapshot(folder)
    return None


def _check_installed(name: str) -> None:
    from importlib.util import find_spec

    if find_spec(name) is None:
        raise Failed(f"{name} is not installed: pip install 'trimq[spark]'")


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with TemporaryDirectory(prefix="trimq-offsets-") as folder:
        yield Path(folder)


@contextmanager
def _failures() -> Iterator[None]:
    """Expected failures as one sentence and exit code 2."""
    from spark.errors import SparkSourceError, sentences

    try:
        with sentences():
            yield
    except SparkSourceError as error:
        raise Failed(str(error)) from None
    except OSError as error:
        raise Failed(f"{error.filename or 'a file'}: {error.strerror or error}") from None


def _rounds(
    take: Callable[[], Snapshot] | None,
    history: Path,
    wanted: Wanted,
    master: str | None,
    watch: float | None,
    rounds: int | None,
) -> int:
    """Take, compute and show, once or again and again; the last round's exit code."""
    spark = running = _running()
    done = 0
    try:
        while True:
            began = time.monotonic()
            # Before Spark starts, so that what cannot be reached is said at once.
            problems = _append(take, history)
            if spark is None:
                spark = _session(master)
            code = _one(spark, history, wanted)
            for problem in problems:
                click.echo(f"not asked: {problem}", err=True)
            code = 2 if problems else code
            done += 1
            if watch is None or (rounds is not None and done >= rounds):
                return code
            time.sleep(max(0.0, watch - (time.monotonic() - began)))
    finally:
        if spark is not None and running is None:
            spark.stop()


def _append(take: Callable[[], Snapshot] | None, history: Path) -> list[str]:
    from spark.errors import SparkSourceError
    from spark.offsets.history import append, snapshots

    problems: list[str] = []
    if take is not None:
        taken = take()
        problems = taken.problems
        for note in taken.notes[:_NOTES]:
            click.echo(f"not known: {note}", err=True)
        if len(taken.notes) > _NOTES:
            click.echo(f"not known: {len(taken.notes) - _NOTES} details more", err=True)
        if not taken.table.num_rows:
            raise SparkSourceError(
                "there are no topics to report on: " + "; ".join(problems or ["none match"])
            )
        append(history, taken.table)
    elif not snapshots(history):
        raise SparkSourceError(f"there is no snapshot in {history}")
    return problems


def _running() -> SparkSession | None:
    """The session of who called us in his own process; it stays his."""
    import sys

    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _session(master: str | None) -> SparkSession:
    from pyspark import SparkConf

    from spark.session import session

    # spark-submit has set its own in the JVM that runs us.
    given = SparkConf().get("spark.master", None)
    chosen = master or given or "local[*]"
    if chosen.startswith("local"):
        # Nobody else has to reach this driver.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    made = session(None if given and master is None else chosen, _CONFIG, "TriMQ offsets")
    made.sparkContext.setLogLevel("ERROR")
    return made


def _one(spark: SparkSession, history: Path, wanted: Wanted) -> int:
    from spark.offsets.analysis import analyse
    from spark.offsets.history import snapshots
    from spark.offsets.report import collect

    files: list[SnapshotFile] = snapshots(history)
    frames = analyse(spark, files)
    try:
        made = collect(frames, [file.taken for file in files], wanted.top)
        _write(made, frames, wanted)
    finally:
        frames.release()
    passed = list(made.passed(wanted.max_lag, wanted.max_delay))
    for sentence in passed:
        click.echo(sentence, err=True)
    return 1 if passed else 0


def _write(made: Report, frames: Any, wanted: Wanted) -> None:
    from rich.console import Console

    from spark.offsets import files
    from spark.offsets.page import page
    from spark.offsets.terminal import show

    if not wanted.quiet and "-" not in (wanted.json, wanted.prometheus):
        show(made, Console(), wanted.top)
    if wanted.html is not None:
        files.write_text(str(wanted.html), [page(made)])
    if wanted.json is not None:
        files.write_text(wanted.json, [files.report_json(made)])
    if wanted.prometheus is not None:
        files.write_text(wanted.prometheus, files.prometheus_lines(made, frames))
    if wanted.parquet is not None:
        files.write_tables(frames, wanted.parquet, "parquet")
    if wanted.csv is not None:
        files.write_tables(frames, wanted.csv, "csv")
