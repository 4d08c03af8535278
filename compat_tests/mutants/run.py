"""``make compat-mutants``: every deliberately wrong build must turn its scenarios red.

The real server and the right TriMQ play all the scenarios once; they must agree, or red means nothing.
Then each mutant plays those that are said to notice it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.comparing.normalise import differences, normalise
from compat_tests.mutants.catalogue import MUTANTS, Mutant
from compat_tests.scenarios.batches import JAVA_MAIN
from compat_tests.scenarios.driver import JAVA_5, Outcome, play
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.containers import launcher
from compat_tests.servers.ours import COMMAND, TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Server
from compat_tests.servers.versions import REFERENCE

Seen = dict[str, list[str]]
# pytest's exit codes.
PASSED: Final = 0
FAILED: Final = 1


class Run:
    """The real outcomes, and how another server's differ from them."""

    def __init__(self, folder: Path, scenarios: Sequence[str]) -> None:
        self._folder = folder
        self._real: dict[str, object] = {}
        launch = launcher()
        print(f"real RocketMQ {REFERENCE}: {launch.description}", flush=True)
        real = RealServer(launch, folder / "real").start()
        try:
            for name, outcome in play(JAVA_5, real, scenarios, folder).items():
                if outcome.error:
                    raise SystemExit(f"{name} failed on the real server: {outcome.error}")
                self._real[name] = normalise(outcome, real)
        finally:
            real.kill()

    def differences(self, name: str, command: Sequence[str], scenarios: Sequence[str]) -> Seen:
        """Per scenario what is different on the server that this command starts."""
        server = TrimqServer(self._folder / name, command=command).start()
        try:
            played = play(JAVA_5, server, scenarios, self._folder / f"{name}-seen")
        finally:
            server.kill()
        return {each: self._compare(played[each], server) for each in scenarios}

    def _compare(self, outcome: Outcome, server: Server) -> list[str]:
        if outcome.error:
            return [f"failed: {outcome.error.splitlines()[0]}"]
        return list(differences(self._real[outcome.scenario], normalise(outcome, server)))


def judge(mutant: Mutant, seen: Seen) -> bool:
    """Prints what noticed the mutant; true when everything did that had to."""
    green = [name for name in mutant.red if not seen[name]]
    print(f"{'survived' if green else 'noticed '}  {mutant.name}: {mutant.mistake}")
    for name in mutant.red:
        first = seen[name][0][:160] if seen[name] else "NO DIFFERENCE"
        print(f"            {name}: {len(seen[name])} differences, such as {first}")
    sys.stdout.flush()
    return not green


def judge_by_tests(mutant: Mutant) -> bool:
    """The same for unit tests, which must be green without the mistake and red with it, each of them."""
    right = _run(mutant.tests, "")
    green = [test for test in mutant.tests if _run((test,), mutant.name) != FAILED]
    noticed = right == PASSED and not green
    print(f"{'noticed ' if noticed else 'survived'}  {mutant.name}: {mutant.mistake}")
    for test in mutant.tests:
        print(
            f"            {test.rpartition('::')[2]}: {'NO DIFFERENCE' if test in green else 'red'}"
        )
    sys.stdout.flush()
    return noticed


def _run(tests: Sequence[str], mutant: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "compat_tests.mutants.plugin", *tests]
    environment = {**os.environ, "MUTANT": mutant}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=False
    ).returncode


def main() -> None:
    wanted = sys.argv[1:]
    all_mutants = [m for m in MUTANTS if not wanted or m.name in wanted]
    caught = [judge_by_tests(mutant) for mutant in all_mutants if mutant.tests]
    caught += judge_by_scenarios([mutant for mutant in all_mutants if mutant.red])
    print(f"{sum(caught)} of {len(caught)} mutants noticed")
    raise SystemExit(not all(caught))


def judge_by_scenarios(mutants: Sequence[Mutant]) -> list[bool]:
    if not mutants:
        return []
    needed = {name for mutant in mutants for name in mutant.red}
    scenarios = [name for name in JAVA_MAIN if name in needed]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        run = Run(Path(folder), scenarios)
        wrong = {n: d for n, d in run.differences("trimq", COMMAND, scenarios).items() if d}
        if wrong:
            print("TriMQ itself differs from the real one, so nothing can be said:")
            for name, found in wrong.items():
                print(f"  {name}: {found[0][:300]}")
            raise SystemExit(1)
        print(f"unchanged TriMQ: {len(scenarios)} scenarios as on the real one", flush=True)
        launch = (sys.executable, "-m", "compat_tests.mutants.catalogue")
        return [judge(m, run.differences(m.name, (*launch, m.name), m.red)) for m in mutants]


if __name__ == "__main__":
    main()
