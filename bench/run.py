"""What every part of the benchmarks is given, and where it puts what it finds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.loads.settling import Pace, WarmUp
from bench.pages.figures import Figures
from bench.servers import subjects
from bench.servers.fleet import CATCH_UP_SECONDS, Fleet
from bench.servers.subjects import Subject
from bench.servers.trees import Against


@dataclass(frozen=True, slots=True)
class Run:
    """`folder` is empty and temporary; `seconds` is how long a load is counted.

    `kinds` take part in the first round. `real`: the real broker also where it is left out by itself.
    `rows`: only rows with one of these texts in their names; all without one.
    """

    folder: Path
    rounds: int
    seconds: int
    kinds: tuple[str, ...] = subjects.KINDS
    smoke: bool = False
    real: bool = False
    rows: tuple[str, ...] = ()
    against: Against | None = None
    figures: Figures = field(default_factory=Figures)

    @property
    def ramp(self) -> float:
        """Seconds of a load before it is counted, on a server that is warm."""
        return 0.25 if self.smoke else 1

    @property
    def pace(self) -> Pace:
        return Pace(0.3, 0.3) if self.smoke else Pace()

    @property
    def lives(self) -> int:
        """Rounds of what needs a new process for each: more than one, if there are several at all."""
        return (self.rounds + 1) // 2

    def wants(self, name: str) -> bool:
        """Whether a row is asked for."""
        return not self.rows or any(text in name for text in self.rows)

    def turns(self, rounds: int | None = None) -> Iterator[tuple[int, str]]:
        """(round, kind), the order of kinds changing from round to round."""
        count = self.rounds if rounds is None else rounds
        for number in range(count):
            # One round shows what plain Python gives; the medians that count are the others'.
            kinds = tuple(k for k in self.kinds if number == 0 or k != subjects.PURE)
            for kind in subjects.order(number, kinds):
                print(f"  round {number + 1} of {count}: {kind}", flush=True)
                yield number, kind

    def warmed(self, name: str, kind: str, found: WarmUp) -> None:
        """Keep and tell how a row's load warmed a server."""
        print(f"    {name}: {kind} warmed for {found}", flush=True)
        self.figures.warmed(name, kind, found)

    def server(self, kind: str, name: str, settings: dict[str, str] | None = None) -> Subject:
        """Not started yet, with a folder of its own."""
        other = self.against.other if self.against else None
        return subjects.make(kind, self.home(kind, name), settings, other)

    @contextmanager
    def started(
        self, kind: str, name: str, settings: dict[str, str] | None = None
    ) -> Iterator[Subject]:
        """A running server with an empty store, removed at the end."""
        other = self.against.other if self.against else None
        with subjects.started(kind, self.home(kind, name), settings, other) as server:
            yield server

    @contextmanager
    def fleet(self, settings: dict[str, str] | None = None) -> Iterator[Fleet]:
        """All kinds, not started yet; at the end gone with their files."""
        servers = {kind: self.server(kind, "fleet", settings) for kind in self.kinds}
        fleet = Fleet(servers, self.ramp if self.smoke else CATCH_UP_SECONDS)
        try:
            yield fleet
        finally:
            fleet.stop()
            for kind in self.kinds:
                shutil.rmtree(self.home(kind, "fleet"), ignore_errors=True)

    def home(self, kind: str, name: str) -> Path:
        """Where a server of that kind keeps everything."""
        return self.folder / f"{name}-{kind}"
