"""Makes a release in `dist/`: ``make release VERSION=0.1.0``. It uploads nothing, and changes nothing in the checkout.

First it checks the checkout, and names everything that is not as it must be. Then the tests: those of a landed state
were played (tests/run/played.json), for another one it runs `make test`. Then each row of the table is made, and what
it leaves is tried. At the end come a table, `SHA256SUMS`, and what is left to be done.

`--dry-run` checks, and shows what would be done. `--tested`: the tests have passed elsewhere.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from releasing.checks import CHECKS, ROOT, CannotTell, Facts, gather, line_of
from releasing.table import Row
from releasing.table import rows as rows_of
from releasing.trying import Failed, Trial
from tests.run.interpreters import candidates, find

SUMS: Final = "SHA256SUMS"
_TEST: Final = ("make", "--no-print-directory", "test")
# The exit code of a command.
Run = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Made:
    """A file in dist/, and what was seen of it; or why there is none, or it does not work, or was not tried."""

    name: str
    file: Path | None = None
    trial: Trial | None = None
    fault: str = ""
    why_not: str = ""


def run(command: Sequence[str]) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def check(facts: Facts) -> bool:
    """Print every check, with its sentence if there is one; whether there is none."""
    faults = [(one.name, one.fault(facts)) for one in CHECKS]
    for name, fault in faults:
        print(f"{'no ' if fault else 'yes'}  {name}{f': {fault}' if fault else ''}", flush=True)
    return not any(fault for _, fault in faults)


def plan(facts: Facts, rows: Iterable[Row], out: Path, tested: bool) -> None:
    """What would be done."""
    if facts.was_played:
        print("the tests were played at this state: tests/run/played.json says so")
    elif tested:
        print("the tests are not run: --tested says that they have passed")
    else:
        print("first of all: make test")
    for row in rows:
        if not row.command:
            print(f"{row.name}: is not built: {row.how}")
            continue
        print(f"{row.name}:")
        print(f"    {' '.join(row.words(facts.asked, out))}")
        for file in row.files(facts.asked, out):
            print(
                f"    leaves {file.name}, which is {'not ' if row.tried is None else ''}tried: {row.how}"
            )
    print(f"{SUMS} with a line for each file")


def make(row: Row, version: str, out: Path, run: Run) -> list[Made]:
    """Build it and try what it leaves; one for each file, or one if there is none."""
    if not row.command:
        return [Made(row.name, why_not=row.how)]
    print(f"begins: {row.name}", flush=True)
    code = run(row.words(version, out))
    if code:
        return [
            Made(
                row.name,
                fault=f"its command ended with {code}: {' '.join(row.words(version, out))}",
            )
        ]
    return [_tried(row, file, version) for file in row.files(version, out)]


def _tried(row: Row, file: Path, version: str) -> Made:
    if not file.is_file():
        return Made(row.name, fault=f"its command has not left {file.name} in {file.parent}")
    if row.tried is None:
        return Made(row.name, file, why_not=row.how)
    folder = tempfile.mkdtemp(prefix="trimq-tried-")
    try:
        trial = row.tried(file, Path(folder), version)
    except Failed as error:
        # The folder stays, to be looked at.
        return Made(row.name, file, fault=str(error))
    shutil.rmtree(folder, ignore_errors=True)
    return Made(row.name, file, trial)


def table(made: Iterable[Made]) -> str:
    """Size in bytes, seconds to install and to be ready, memory in MiB after the first messages."""
    told = sorted(made, key=lambda one: one.file is None)
    lines = [f"{'bytes':>9} {'install':>8} {'start':>7} {'MiB':>6}  file"]
    for one in told:
        if one.file is not None and one.trial is not None:
            trial = one.trial
            lines.append(
                f"{one.file.stat().st_size:>9} {trial.install_seconds:>6.0f} s {trial.start_seconds:>5.2f} s"
                f" {trial.memory_bytes / 2**20:>6.0f}  {one.file.name}: {trial.says}"
            )
        elif one.why_not:
            lines.append(_without_trial(one))
    lines += [f"failed: {one.name}: {one.fault}" for one in told if one.fault]
    return "\n".join(lines)


def _without_trial(one: Made) -> str:
    if one.file is None:
        return f"not built: {one.name}: {one.why_not}"
    blank = f"{'-':>8} {'-':>7} {'-':>6}"
    return f"{one.file.stat().st_size:>9} {blank}  {one.file.name}: not tried: {one.why_not}"


def write_sums(files: Iterable[Path], out: Path) -> None:
    """As `sha256sum --check` reads them."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)
    ]
    (out / SUMS).write_text("".join(lines))


def release(facts: Facts, rows: Sequence[Row], out: Path, tested: bool, run: Run = run) -> int:
    """The checks have passed. The exit code."""
    if not facts.was_played and not tested and run(_TEST):
        print("make test has failed: nothing was built", file=sys.stderr)
        return 1
    made = [one for row in rows for one in make(row, facts.asked, out, run)]
    print(table(made))
    if any(one.fault for one in made):
        return 1
    write_sums([one.file for one in made if one.file is not None], out)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    print(f"\n{out} holds {facts.asked}; nothing was uploaded. What is left to be done:")
    print(f"  git tag -a v{facts.asked} {facts.commit[:12]} -m 'TriMQ {facts.asked}'")
    print(f"  with the next change, in releasing/releases.json: {line_of(facts, date)}")
    return 0


def main(words: Sequence[str], rows: Sequence[Row] | None = None) -> int:
    """`rows`: instead of those of the table."""
    parser = argparse.ArgumentParser(prog="make release VERSION=")
    parser.add_argument("version", nargs="?", help="as in 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="check, and show what would be done")
    parser.add_argument("--tested", action="store_true", help="the tests have passed elsewhere")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where it is built [dist]")
    options = parser.parse_args(words)
    if not options.version:
        print("which one? make release VERSION=0.2.0", file=sys.stderr)
        return 2
    out = options.out.resolve()
    try:
        facts = gather(options.version, out)
    except CannotTell as error:
        print(f"make release: {error}", file=sys.stderr)
        return 1
    sound = check(facts)
    if rows is None:
        rows = rows_of(find([Path(sys.executable), *candidates()]))
    if options.dry_run:
        plan(facts, rows, out, options.tested)
        return int(not sound)
    if not sound:
        print("make release: nothing was built; do what stands behind each 'no'", file=sys.stderr)
        return 1
    return release(facts, rows, out, options.tested)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
