"""Sentences on what was promised: that a ratio reaches its floor, that nothing is later or larger than it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.pages.figures import Figures, figure
from bench.servers.subjects import OURS, REAL

# Of every kind of message beside plain ones: times the real broker's rate, at least and wished.
KINDS: Final = (1.0, 1.3)


def of_rates(figures: Figures, names: Sequence[str]) -> str:
    """A line for each rate that both brokers have."""
    floor, aim = KINDS
    lines = []
    for name in names:
        ratio = figures.ratio(name)
        if ratio is not None:
            met = "missed" if ratio < floor else "met" if ratio < aim else "met, and the aim too"
            lines.append(
                f"- {name}: {ratio:.2f} of the real broker's, the floor of {floor:g} is {met}."
            )
    return "\n".join(lines)


def of_lateness(figures: Figures, name: str, most: float | None = None) -> str:
    """Whether TriMQ is no later than the real broker, nor than so many milliseconds; empty without both brokers."""
    real, ours = figures.median(name, REAL), figures.median(name, OURS)
    if ours is None or real is None:
        return ""
    limits = [f"the real broker's {figure(real)}"]
    limits += [] if most is None else [f"{most:g}"]
    met = ours <= real and (most is None or ours <= most)
    told = "met" if met else "missed"
    return f"- {name}: {figure(ours)}, wanted at most {' and '.join(limits)}: {told}."


def of_promise(name: str, found: float | None, limit: float, unit: str) -> str:
    """What was found and whether it is below its limit."""
    if found is None:
        return f"{name}: not measured"
    kept = "met" if found < limit else "missed"
    return f"{name}: {figure(found)} {unit}, wanted under {limit:g}: {kept}"
