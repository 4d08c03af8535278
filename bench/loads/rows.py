"""A row of a table, on all servers in turn: each is warmed by the row's own load, then the rounds are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.loads.settling import WarmUp
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.subjects import Subject


@dataclass(frozen=True, slots=True)
class Row:
    """`warm` gives a server the row's load until it has settled; `turn` counts, and gives figures by their names."""

    name: str
    warm: Callable[[str, Subject], WarmUp]
    turn: Callable[[str, Subject], dict[str, float]]


def measure(run: Run, fleet: Fleet, rows: Sequence[Row]) -> None:
    """Into the run's figures; rows that nobody asked for are left out."""
    for row in rows:
        if not run.wants(row.name):
            continue
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                run.warmed(row.name, kind, row.warm(kind, server))
        for _, kind in run.turns():
            with fleet.turn(kind) as server:
                for name, value in row.turn(kind, server).items():
                    run.figures.add(name, kind, value)
