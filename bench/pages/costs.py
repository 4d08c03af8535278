"""What came of measuring a curve several times: its table, and the cost of a body as so much and so much a KiB."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Final

from bench.servers.subjects import OURS
from bench.store.figures import Curve, Table

KIB: Final = 1024
# How columns of CPU time end; the others are only printed.
MICROS: Final = ", us"
_AXIS: Final = "broker CPU, us a message"


class Points:
    """Values by step and figure, one a repeat."""

    def __init__(self) -> None:
        self._values: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, step: int, found: dict[str, float]) -> None:
        for figure, value in found.items():
            self._values[step][figure].append(value)

    @property
    def steps(self) -> list[int]:
        return list(self._values)

    @property
    def figures(self) -> list[str]:
        """In the order in which they came."""
        return list(dict.fromkeys(name for found in self._values.values() for name in found))

    def median(self, step: int, figure: str) -> float:
        return statistics.median(self._values[step][figure])


def table_of(title: str, note: str, x: str, file: str, points: dict[str, Points]) -> Table:
    """A row a step; the columns of other servers, if there are any, come last, behind the name of their kind."""
    columns = [(kind, figure) for kind, found in points.items() for figure in found.figures]
    steps = next(iter(points.values())).steps
    rows: list[list[float | str]] = [
        [step, *(points[kind].median(step, figure) for kind, figure in columns)] for step in steps
    ]
    names = [x, *(figure if kind == OURS else f"{kind}: {figure}" for kind, figure in columns)]
    return Table(title, note, names, rows, [Curve(f"growth-{file}.svg", _AXIS, costs(names))])


def costs(columns: list[str]) -> list[int]:
    """Which columns are CPU time."""
    return [number for number, name in enumerate(columns) if name.endswith(MICROS)]


def fitted(sizes: list[float], micros: list[float]) -> tuple[float, float]:
    """Microseconds a message and a KiB, so that the sum of squared shares by which they are off is smallest.

    Shares, because a message of 1 MiB costs hundreds of times what a small one costs.
    """
    weights = [1 / value**2 for value in micros]
    kib = [size / KIB for size in sizes]
    total = sum(weights)
    middle = sum(w * x for w, x in zip(weights, kib, strict=True)) / total
    height = sum(w * y for w, y in zip(weights, micros, strict=True)) / total
    slope = sum(
        w * (x - middle) * (y - height) for w, x, y in zip(weights, kib, micros, strict=True)
    ) / sum(w * (x - middle) ** 2 for w, x in zip(weights, kib, strict=True))
    return height - slope * middle, slope


def fit_words(table: Table) -> str:
    """The fit of every CPU column over body sizes, and how far the worst point is from it."""
    sizes = [float(row[0]) for row in table.rows]
    sentences = []
    for column in costs(table.columns):
        micros = [float(row[column]) for row in table.rows]
        fixed, each = fitted(sizes, micros)
        off = max(
            abs(fixed + each * size / KIB - value) / value
            for size, value in zip(sizes, micros, strict=True)
        )
        sentences.append(
            f"{table.columns[column].removesuffix(MICROS)}: {fixed:.1f} us a message and "
            f"{each:.2f} us a KiB; no point is more than {off * 100:.0f} % off."
        )
    return " ".join(sentences)
