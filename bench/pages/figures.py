"""The figures of a part, by row and kind of server, and the Markdown tables made of them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Final

from bench.loads.settling import WarmUp
from bench.servers.subjects import BEFORE, KINDS, OTHER, OURS, PURE, REAL
from compat_tests.servers.versions import REFERENCE, before

# Two trees are as fast as each other when no more than this lies between their figures.
SAME: Final = 0.03
_ORDER: Final = (REAL, BEFORE, OTHER, *(kind for kind in KINDS if kind != REAL))
_HEAD: Final = {
    REAL: f"real {REFERENCE}",
    BEFORE: f"real {before()}",
    OURS: "TriMQ",
    PURE: "TriMQ, pure Python",
    OTHER: "that tree",
}


class Figures:
    """Values by figure and kind, one a round; and how each row's load warmed the servers."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._warm_ups: dict[str, dict[str, list[WarmUp]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, kind: str, value: float) -> None:
        self._values[name][kind].append(value)

    def warmed(self, name: str, kind: str, found: WarmUp) -> None:
        self._warm_ups[name][kind].append(found)

    def median(self, name: str, kind: str) -> float | None:
        # A look must not make a row.
        values = self._values[name].get(kind) if name in self._values else None
        return statistics.median(values) if values else None

    def ratio(self, name: str, kind: str = OURS, base: str = REAL) -> float | None:
        under, over = self.median(name, base), self.median(name, kind)
        return over / under if under and over is not None else None

    def ratios(self, name: str, kind: str = OURS, base: str = REAL) -> list[float]:
        """Round by round."""
        values = self._values.get(name, {})
        pairs = zip(values.get(kind, ()), values.get(base, ()), strict=False)
        return [over / under for over, under in pairs if under]

    @property
    def names(self) -> list[str]:
        """Of all figures, in the order in which they came."""
        return list(self._values)

    @property
    def kinds(self) -> list[str]:
        """That have figures, in the order of columns."""
        return [kind for kind in _ORDER if any(kind in kinds for kinds in self._values.values())]

    def table(self) -> str:
        """A row a figure: the real broker's, then each of ours with its ratio; of two trees, how they compare."""
        return self._compared() if OTHER in self.kinds else self._beside_the_real_one()

    def _beside_the_real_one(self) -> str:
        shown = self.kinds
        columns = [
            word
            for kind in shown
            for word in ((_HEAD[kind],) if kind == REAL else (_HEAD[kind], "ratio"))
        ]
        rows = []
        for name in self._values:
            cells = []
            for kind in shown:
                cells.append(figure(self.median(name, kind)))
                if kind != REAL:
                    cells.append(figure(self.ratio(name, kind), ratio=True))
            rows.append([name, *cells])
        return markdown(["figure", *columns], rows)

    def _compared(self) -> str:
        real = [REAL] if REAL in self.kinds else []
        columns = [*(_HEAD[kind] for kind in real), "that tree", "this tree", "this / that"]
        columns += ["by rounds", "within 3 %", *("this / real" for _ in real)]
        rows = []
        for name in self._values:
            ratio, by_rounds = self.ratio(name, OURS, OTHER), self.ratios(name, OURS, OTHER)
            cells = [figure(self.median(name, kind)) for kind in (*real, OTHER, OURS)]
            cells.append("-" if ratio is None else f"{ratio:.3f}")
            cells.append(f"{min(by_rounds):.2f} to {max(by_rounds):.2f}" if by_rounds else "-")
            cells.append("-" if ratio is None else "yes" if abs(ratio - 1) <= SAME else "no")
            cells += [figure(self.ratio(name), ratio=True) for _ in real]
            rows.append([name, *cells])
        return markdown(["figure", *columns], rows)

    def warm_up_table(self) -> str:
        """A row a load: for how long each server was given it before figures counted; nothing without any."""
        if not self._warm_ups:
            return ""
        found = [k for k in _ORDER if any(k in kinds for kinds in self._warm_ups.values())]
        heads = {**_HEAD, OURS: "this tree"} if OTHER in found else _HEAD
        rows = [
            [name, *(_several(kinds.get(kind, [])) for kind in found)]
            for name, kinds in self._warm_ups.items()
        ]
        return markdown(["warmed by", *(heads[kind] for kind in found)], rows)


def _several(found: list[WarmUp]) -> str:
    """What a cell says of the rounds that each had a warm-up of its own."""
    return "; ".join(map(str, found)) or "-"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def figure(value: float | None, ratio: bool = False) -> str:
    if value is None:
        return "-"
    if ratio:
        return f"{value:.2f}"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}"
