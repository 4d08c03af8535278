"""Runs parts of the tests side by side, and tells what each of them cost.

``python -m tests.run.parts [--since COMMIT] [--plan] GROUP...`` runs groups of `GROUPS` one after the other, and the
parts of a group side by side, as many at a time as the group says; the name of a part stands for a group of it alone.
What a part prints is shown in one piece when it has ended; until then a line a minute says what is running, because
some observers take silence for a hang. At the end come a table, the slowest tests, what was skipped and why, and which
parts were not played, for want of a tool (tests/run/tools.py) or because no change since COMMIT can touch them.
Behind a group with a part that failed no other one begins. The exit code is that of the first part that failed;
Ctrl-C ends everything that was started. With --plan nothing runs: it says what would, why, and about how long.

Up to three tests that failed in a group are played again, alone, when it has ended: on two cores, other parts can
starve one beyond any patience. What passes then counts as passed, and stands in the output with its first failure and
a count (tests/run/again.py), and by name in again.txt. Of more than a few, none is played again.

Each run keeps what its parts have printed and reported in a folder of its own, `build/parts/TIME-PROCESS`: another
run in the same clone touches nothing there. `build/parts/latest` leads to the newest. What it may not do is build: two
runs that make `build/compiled` would take it away from each other, so the second of those does not begin.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

from tests.run import again, forecast, memory, plan, report, tools
from tests.run.part import ROOT, Group, Part
from tests.run.table import GROUPS, todays_turn

RESULTS: Final = ROOT / "build" / "parts"
BYTE_CODE: Final = ROOT / "build" / "byte-code"
# Of whose parts some may be left out.
PROOF: Final = "proof"
# The names of tests that passed only when they were played again, in the folder of the run.
AGAIN: Final = "again.txt"
# How many runs can be looked at later.
KEPT: Final = 10
# How long a part may take to end what it started.
GRACE: Final = 60.0
SILENCE: Final = 60.0


def group(name: str) -> Group:
    """The group of this name, or the part of this name by itself."""
    if name in GROUPS:
        return GROUPS[name]()
    parts = {part.name: part for made in GROUPS.values() for part in made().parts}
    if name not in parts:
        raise SystemExit(
            f"{name} is no group ({', '.join(GROUPS)}) and no part ({', '.join(parts)})"
        )
    return Group([parts[name]])


class Running:
    """A part that was started, in a process group of its own."""

    def __init__(self, part: Part, results: Path) -> None:
        self.part = part
        self.began = time.monotonic()
        self.log = results / f"{part.name}.txt"
        self._xml = results / f"{part.name}.xml"
        with self.log.open("wb") as sink:
            self._process = subprocess.Popen(
                part.command(self._xml),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=part.folder,
                env=self._environment(part),
                start_new_session=True,
            )

    @staticmethod
    def _environment(part: Part) -> dict[str, str]:
        """Its processes keep their byte code, whatever is exported: without it each server compiles 400 files first."""
        environment = dict(os.environ)
        if part.path:
            environment["PYTHONPATH"] = part.path
        if part.compiles_once:
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = str(BYTE_CODE)
        return environment

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self, status: int, usage: resource.struct_rusage) -> report.Outcome:
        """Its outcome; whatever it left behind ends here."""
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.signal(signal.SIGKILL)
        if not self._process.returncode:
            memory.clear(self.part.name)
        cpu = usage.ru_utime + usage.ru_stime
        seconds = time.monotonic() - self.began
        return report.Outcome(self.part.name, self._process.returncode, seconds, cpu, self._xml)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def end(self) -> None:
        """Wait until it has heeded the SIGINT; by force when that takes too long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.signal(signal.SIGKILL)
        self._process.wait()


def run(group: Group, results: Path, outcomes: list[report.Outcome]) -> None:
    """Adds what became of each part; whatever happens, nothing of them is left."""
    waiting, running = list(group.parts), dict[int, Running]()
    try:
        with _telling(running):
            _run(group, waiting, running, results, outcomes)
    finally:
        # As Ctrl-C does, so that tests stop their servers.
        for left in running.values():
            left.signal(signal.SIGINT)
        for left in running.values():
            left.end()


@contextmanager
def _telling(running: Mapping[int, Running]) -> Iterator[None]:
    """Says now and then what is running."""
    done = threading.Event()

    def tell() -> None:
        while not done.wait(SILENCE):
            now = time.monotonic()
            parts = [f"{one.part.name} ({now - one.began:.0f} s)" for one in list(running.values())]
            print(f"running: {', '.join(parts)}", flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _run(
    group: Group,
    waiting: list[Part],
    running: dict[int, Running],
    results: Path,
    outcomes: list[report.Outcome],
) -> None:
    while waiting or running:
        while part := group.next(waiting, [one.part for one in running.values()]):
            waiting.remove(part)
            started = Running(part, results)
            running[started.pid] = started
            print(f"begins: {started.part.name}", flush=True)
        pid, status, usage = os.wait4(-1, 0)
        if pid not in running:
            continue
        done = running.pop(pid)
        outcomes.append(done.ended(status, usage))
        _show(done.log, outcomes[-1])


def _show(log: Path, outcome: report.Outcome) -> None:
    print(f"\n===== {outcome.name}: {outcome.seconds:.0f} s, exit code {outcome.code} =====")
    sys.stdout.flush()
    with log.open("rb") as text:
        os.set_blocking(sys.stdout.fileno(), True)
        sys.stdout.buffer.write(text.read())
    sys.stdout.flush()


def own_folder() -> Path:
    """For what this run prints and reports; `latest` leads there. Only the newest of those that have ended stay."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    ended = [old for old in sorted(RESULTS.glob("*-*-*")) if not memory.is_running(old)]
    for old in ended[: -(KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    folder = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    folder.mkdir()
    latest = RESULTS / f"latest.{os.getpid()}"
    latest.symlink_to(folder.name)
    latest.replace(RESULTS / "latest")
    return folder


@contextmanager
def _building(names: Sequence[str]) -> Iterator[None]:
    """`build/compiled` belongs to one run at a time of those that make it."""
    if not any(part.name == "build" for name in names for part in group(name).parts):
        yield
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "building").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(
                f"another run in {ROOT} has made build/compiled and tests it: wait for its end, or use another clone"
            ) from None
        yield


def main(names: Sequence[str], since: str = "", planned: bool = False) -> int:
    """`since`: a commit; of the group `proof` only what changes since then can touch is played.

    `planned`: it is only told what would be played.
    """
    plan.refuse_unknown(since)
    if planned:
        for name in names:
            # What is compiled is compiled first.
            made, left, why = _made(plan.as_built(group(name)), name, since)
            print("\n".join([f"{name}:", *why, plan.text(left), forecast.text(made)]))
        return 0
    tools.refuse_missing()
    with _building(names):
        return _main(names, since)


def _main(names: Sequence[str], since: str) -> int:
    results = own_folder()
    memory.clear_after_others()
    outcomes: list[report.Outcome] = []
    mended: list[again.Second] = []
    left: list[plan.Left] = []
    code = 0
    try:
        for name in names:
            made, others, why = _made(group(name), name, since)
            left += others
            if since and name == PROOF:
                print("\n".join(["played:", *why]), flush=True)
            code = _ended(made, results, outcomes, mended)
            if code:
                break
        if code == 0 and PROOF in names:
            plan.note(outcomes)
    finally:
        print(report.text(outcomes))
        print(again.text(mended))
        again.write(mended, results / AGAIN)
        print(plan.text(left))
        print(f"\nall of it is in {results}", flush=True)
    return code


def _made(every: Group, name: str, since: str) -> tuple[Group, list[plan.Left], list[str]]:
    """The parts of that group that are played, those that are left, and a line for each that is played."""
    made, left = plan.playable(every)
    if not since or name != PROOF:
        return made, left, [f"    {part.name}" for part in made.parts]
    made, others, why = plan.chosen(made, since, todays_turn())
    return made, left + others, why


def _ended(
    made: Group, results: Path, outcomes: list[report.Outcome], seconds: list[again.Second]
) -> int:
    """Run it, and what failed in it again; the exit code of the first part that failed and did not pass alone."""
    own: list[report.Outcome] = []
    try:
        run(made, results, own)
    finally:
        outcomes += own
    parts = {part.name: part for part in made.parts if part.again}
    chosen = again.chosen(own, parts)
    for first, names in chosen.items():
        # One after the other: nothing runs beside it.
        part = parts[first]
        words = ("-p", "no:randomly", *part.options, *names)
        run(Group([Part(f"{first}-again", words, part.folder)]), results, outcomes)
        seconds += again.seconds(next(one for one in own if one.name == first), outcomes[-1], names)
    passed = again.passed(chosen, seconds)
    return next((one.code for one in own if one.code and one.name not in passed), 0)


def interrupted(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # A shell lets its jobs in the background ignore the first of them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    try:
        arguments = argparse.ArgumentParser("python -m tests.run.parts")
        arguments.add_argument("--since", default="", metavar="COMMIT")
        arguments.add_argument("--plan", action="store_true")
        arguments.add_argument("names", nargs="+", metavar="GROUP")
        asked = arguments.parse_args()
        sys.exit(main(asked.names, asked.since, asked.plan))
    except KeyboardInterrupt:
        sys.exit(130)
