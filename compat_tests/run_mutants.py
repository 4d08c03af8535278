"""``make compat-mutants``: every deliberately wrong build must turn its scenarios red.

The real server and the right TriMQ play all the scenarios once; they must agree, or red means nothing.
Then each mutant plays those that are said to notice it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from compat_tests.driver import JAVA_5, Outcome, play
from compat_tests.mutants import MUTANTS, Mutant
from compat_tests.normalise import differences, normalise
from compat_tests.ours import COMMAND, TrimqServer
from compat_tests.real import RealServer, launcher
from compat_tests.scenarios import JAVA_MAIN
from compat_tests.server import Server

Seen = dict[str, list[str]]


class Run:
    """The real outcomes, and how another server's differ from them."""

    def __init__(self, folder: Path, scenarios: Sequence[str]) -> None:
        self._folder = folder
        self._real: dict[str, object] = {}
        launch = launcher()
        print(f"real RocketMQ 5.5.0: {launch.description}", flush=True)
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


def main() -> None:
    wanted = sys.argv[1:]
    mutants = [m for m in MUTANTS if not wanted or m.name in wanted]
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
        launch = (sys.executable, "-m", "compat_tests.mutants")
        caught = [judge(m, run.differences(m.name, (*launch, m.name), m.red)) for m in mutants]
    print(f"{sum(caught)} of {len(mutants)} mutants noticed")
    raise SystemExit(not all(caught))


if __name__ == "__main__":
    main()
