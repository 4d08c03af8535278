"""What every part of the benchmarks is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import subjects


@dataclass(frozen=True, slots=True)
class Run:
    """`folder` is empty and temporary; `seconds` is how long a load is counted.

    `real`: the real broker also where it is left out by itself.
    """

    folder: Path
    rounds: int
    seconds: int
    smoke: bool = False
    pure: bool = True
    real: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        return subjects.KINDS if self.pure else subjects.KINDS[:2]

    def turns(self) -> Iterator[tuple[int, str]]:
        """(round, kind), the order of kinds changing from round to round."""
        for number in range(self.rounds):
            for kind in subjects.order(number, self.kinds):
                print(f"  round {number + 1} of {self.rounds}: {kind}", flush=True)
                yield number, kind
