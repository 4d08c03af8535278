"""When a server is warm: its rate under the very load that is to be measured has settled.

A JVM compiles itself for many seconds under load, and a file system and a CPU have moods too. So every server gets
the load of a row until three rates in a row, of five seconds each, lie within 3 % of each other, at most 90 s; both
kinds of servers by the same rule. Only then a figure counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

RATES: Final = 3
WITHIN: Final = 0.03


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one rate, and how long a warm-up lasts at most."""

    every: float = 5
    limit: float = 90


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How long it took, in seconds of load, and what came of it."""

    seconds: float
    settled: bool
    rates: tuple[float, ...]

    def __str__(self) -> str:
        if self.settled:
            return f"{self.seconds:.0f} s"
        apart = _apart(self.rates[-RATES:])
        why = f"{apart:.0%} apart" if apart < float("inf") else "nothing came"
        return f"{self.seconds:.0f} s, not settled ({why})"


def settled(rates: Sequence[float]) -> bool:
    """Whether the last three lie within 3 % of each other."""
    last = rates[-RATES:]
    # A load that stands still is never warm.
    return len(last) == RATES and 0 < max(last) <= min(last) * (1 + WITHIN)


def _apart(rates: Sequence[float]) -> float:
    """By how much the largest is above the smallest."""
    smallest = min(rates, default=0)
    return max(rates) / smallest - 1 if smallest > 0 else float("inf")


def warm_up(rates: Iterable[float], pace: Pace) -> WarmUp:
    """Take rates, each of `pace.every` seconds, until they have settled or the limit is reached."""
    found: list[float] = []
    for rate in rates:
        found.append(rate)
        if settled(found) or (len(found) + 1) * pace.every > pace.limit:
            break
    return WarmUp(len(found) * pace.every, settled(found), tuple(found))
