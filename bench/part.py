"""What every part of the benchmarks is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import subjects


@dataclass(frozen=True, slots=True)
class Run:
    """`folder` is empty and temporary; `seconds` is how long a load is counted.

    `kinds` take part in the first round. `real`: the real broker also where it is left out by itself.
    """

    folder: Path
    rounds: int
    seconds: int
    kinds: tuple[str, ...] = subjects.KINDS
    smoke: bool = False
    real: bool = False

    @property
    def warmup(self) -> float:
        """Seconds of a load before it is counted."""
        return 0.25 if self.smoke else 2

    def turns(self) -> Iterator[tuple[int, str]]:
        """(round, kind), the order of kinds changing from round to round."""
        for number in range(self.rounds):
            # One round shows what plain Python gives; the medians that count are the others'.
            kinds = self.kinds if number == 0 else subjects.KINDS[:2]
            for kind in subjects.order(number, kinds):
                print(f"  round {number + 1} of {self.rounds}: {kind}", flush=True)
                yield number, kind
