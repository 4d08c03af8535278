"""The official consumers on a pair: one process for each client, all of them at the same time, in step with each
other. What a driver calls a restart is the next thing that is done to the pair, when all of them have asked for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests.replication.pairs import Pair
from compat_tests.scenarios.driver import Driver, new_run
from compat_tests.scenarios.subject_drivers import GoSubject, JavaSubject
from compat_tests.servers import artifacts
from compat_tests.servers.processes import Child

SUBJECT: Final = "replicas"
_LIMIT_SECONDS: Final = 700


def drivers(**properties: str) -> list[Driver]:
    """`properties` are told to those of Java; Go's has them from the environment, as `REPLICAS_NAME`."""
    told = tuple((f"replicas.{name}", text) for name, text in properties.items())
    lines = (artifacts.CLIENT_5, artifacts.CLIENT_4)
    java = [JavaSubject(line, subject=SUBJECT, properties=told) for line in lines]
    return [*java, GoSubject(subject=SUBJECT)]


@dataclass(frozen=True)
class _Playing:
    out: Path
    child: Child

    def has_asked(self, number: int) -> bool:
        """For the pair's next step; or it has ended, and asks for nothing more."""
        return (self.control / f"request-{number}.json").exists() or not self.child.running

    def goes_on(self, number: int) -> None:
        (self.control / f"done-{number}").touch()

    @property
    def control(self) -> Path:
        return self.out / "control"

    def seen(self, scenario: str) -> Any:
        file = self.out / f"{scenario}.json"
        assert file.exists(), self.child.output()[-3000:]
        found = json.loads(file.read_text())
        assert found["error"] is None, found["error"]
        return found["outcome"]


def play(
    pair: Pair,
    scenario: str,
    steps: Sequence[Callable[[Sequence[str]], None]],
    folder: Path,
    players: Sequence[Driver],
) -> dict[str, Any]:
    """By client what it saw. Each step is given the topics."""
    runs = {driver.name: new_run() for driver in players}
    topics = [f"{run}_{scenario}_t" for run in runs.values()]
    playing = {one.name: _start(one, pair, scenario, folder, runs[one.name]) for one in players}
    try:
        deadline = time.monotonic() + _LIMIT_SECONDS
        for number, step in enumerate(steps, 1):
            while not all(one.has_asked(number) for one in playing.values()):
                assert time.monotonic() < deadline, f"step {number} has not come"
                time.sleep(0.05)
            step(topics)
            for one in playing.values():
                one.goes_on(number)
        while any(one.child.running for one in playing.values()):
            assert time.monotonic() < deadline, "a driver does not come to its end"
            time.sleep(0.05)
        return {name: one.seen(scenario) for name, one in playing.items()}
    finally:
        for one in playing.values():
            one.child.kill()


def _start(driver: Driver, pair: Pair, scenario: str, folder: Path, run: str) -> _Playing:
    out = folder / driver.name
    (out / "control").mkdir(parents=True)
    command = [*driver.command(out, None), "--namesrv", pair.namesrv.addr]
    command += ["--broker", pair.master.addr, "--run", run, "--scenario", scenario]
    command += ["--out", str(out), "--control", str(out / "control")]
    return _Playing(out, Child(command, out / "driver.log"))
