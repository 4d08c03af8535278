"""``trimq check``: verify a whole store directory. Reads only; a broker may be running on it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trimq.commands.refusals import Misused
from trimq.store.log.paths import parse_paths

if TYPE_CHECKING:
    from trimq.store.checking.check import CheckReport, Progress
    from trimq.store.checking.findings import Finding

EXAMPLES: Final = """
\b
Examples:
  trimq check data
      everything: each record's CRC and place, queues, index, offsets, tables
  trimq check data --quick
      only what came after the checkpoint: takes seconds
  trimq check /home/rocketmq/store --commitlog /disk2/commitlog --json
      a real broker's store, its commit log elsewhere, as one JSON object

\b
Exit code: 0 when the store is sound, 1 when problems were found, 2 when it cannot be checked.
What a killed broker leaves and the next start repairs is a note, not a problem; so is what a
running broker has not written yet.
"""


@click.command(epilog=EXAMPLES)
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Check only what came after the checkpoint.")
@click.option(
    "--commitlog",
    "commit_log",
    help="The commit log's folder, if storePathCommitLog moved it; several separated by commas.",
)
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="How many findings of each kind to show.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def check(store: Path, quick: bool, commit_log: str | None, examples: int, as_json: bool) -> None:
    """Verify a store directory and say what its next start would do. Changes nothing and takes no
    lock.
    """
    # Not for the other commands: construct takes a while to load.
    from trimq.store.checking.check import NotAStore, StoreCheck
    from trimq.store.checking.findings import Findings

    began = time.monotonic()
    try:
        with _progress_bar() as progress:
            report = StoreCheck(
                store,
                quick=quick,
                commit_logs=_paths(commit_log or ""),
                findings=Findings(examples),
                progress=progress,
            ).run()
    except NotAStore as error:
        raise Misused(str(error)) from None
    except FileNotFoundError as error:
        text = f"{error.filename} was removed meanwhile (a broker deletes old files): run it again"
        raise Misused(text) from None
    except OSError as error:
        raise Misused(f"{error.filename or store} cannot be read: {error.strerror}") from None
    seconds = time.monotonic() - began
    click.echo(report_json(report, seconds) if as_json else report_text(report, seconds))
    if not report.sound:
        raise SystemExit(1)


def _paths(text: str) -> tuple[Path, ...]:
    try:
        return parse_paths(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--commitlog") from None


@contextmanager
def _progress_bar() -> Iterator["Progress"]:
    """On a terminal only; standard output is for the report alone."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("checking"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("checking", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def report_json(report: "CheckReport", seconds: float) -> str:
    """The report as one object; members are added over time, never changed."""
    forecast = report.forecast
    value: dict[str, Any] = {
        "store": str(report.store),
        "sound": report.sound,
        "state": str(report.state),
        "mode": "quick" if report.quick else "full",
        "log": {"start": report.start, "end": report.end, "records": report.records},
        "queues": report.queues,
        "index_files": report.index_files,
        "tables": report.tables,
        "problems": [_finding(finding) for finding in report.findings.problems()],
        "notes": [_finding(finding) for finding in report.findings.notes()],
        "recovery": {
            "start": forecast.start,
            "records": forecast.records if forecast.complete else None,
            "end": forecast.end,
            "queues": forecast.queues,
            "refusal": forecast.refusal or None,
        },
        "rereads": [
            {"who": one.who, "position": one.position, "bytes": one.size} for one in report.rereads
        ],
        "seconds": round(seconds, 3),
        "megabytes_per_second": round(_speed(report, seconds), 1),
    }
    return json.dumps(value, ensure_ascii=False)


def _finding(finding: "Finding") -> dict[str, Any]:
    return {"kind": finding.kind, "count": finding.count, "examples": finding.examples}


def _speed(report: "CheckReport", seconds: float) -> float:
    return (report.end - report.start) / 1e6 / max(seconds, 0.001)


def report_text(report: "CheckReport", seconds: float) -> str:
    owner = f" (process {report.owner})" if report.owner else ""
    size = report.end - report.start
    lines = [
        f"{report.store}: {report.state}{owner}, {'quick' if report.quick else 'full'} check",
        f"commit log {report.start}..{report.end}: {_counted(report.records, 'record')}, {size / 1e6:.1f} MB "
        f"in {seconds:.1f} s ({_speed(report, seconds):.0f} MB/s)",
        f"{_counted(report.queues, 'queue')}, {_counted(report.index_files, 'index file')}, "
        f"{_counted(report.tables, 'table')}",
    ]
    for finding in report.findings.problems():
        lines += _text("PROBLEM", finding)
    for finding in report.findings.notes():
        lines += _text("note", finding)
    lines += ["", forecast_text(report), rereads_text(report), ""]
    count = sum(finding.count for finding in report.findings.problems())
    lines.append("sound" if report.sound else f"not sound: {_counted(count, 'problem')}")
    return "\n".join(lines)


def _text(word: str, finding: "Finding") -> list[str]:
    times = f" ({finding.count})" if finding.count > 1 else ""
    lines = ["", f"{word}: {finding.kind}{times}", *(f"  {text}" for text in finding.examples)]
    if finding.count > len(finding.examples) > 1:
        lines.append("  ...")
    return lines


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def rereads_text(report: "CheckReport") -> str:
    """How much of the log the start would read once more, and because of whom: most first."""
    # Queues and index are read in one pass.
    needed = [one for one in report.rereads if one.size and one.who != "message index"]
    if not needed:
        return "read again: nothing"
    by = ", ".join(f"{one.who} {_size(one.size)} from {one.position} on" for one in needed)
    return f"read again: {_size(sum(one.size for one in needed))}, because of {by}"


def _size(count: int) -> str:
    return f"{count} B" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def forecast_text(report: "CheckReport") -> str:
    """What recovery would do, as a sentence."""
    forecast = report.forecast
    when = "if it were killed now, the next start" if report.owner is not None else "the next start"
    if forecast.refusal:
        return f"recovery: {when} would refuse to open it: {forecast.refusal}"
    records = "the records"
    if forecast.complete:
        records = _counted(forecast.records, "record")
    return (
        f"recovery: {when} would scan {records} from {forecast.start} on, end the log at "
        f"{forecast.end} and write missing entries of {_counted(forecast.queues, 'queue')}"
    )
