"""Tables of benchmark figures as Markdown, and the page that keeps them: bench/RESULTS.md."""

from __future__ import annotations

import datetime
import os
import platform
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import trimq
from bench.subjects import KINDS, OURS, PURE, REAL

PAGE: Final = Path(__file__).parent / "RESULTS.md"
_HEAD: Final = """# Measurements

Each section is written by the command that it names; others leave it as it is. `make bench` runs them all.
Clients, NameServer and broker share the machine's cores. Each figure is the median of rounds in which the servers
ran in turn, each with an empty store. A ratio is TriMQ's figure over the real broker's. The real broker runs with a
heap of 2 GiB, as its users are told. CPU is that of the broker process (TriMQ's holds the NameServer too). RssAnon
is memory that is not file pages.
"""


class Figures:
    """Values by figure and kind, one a round."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, kind: str, value: float) -> None:
        self._values[name][kind].append(value)

    def median(self, name: str, kind: str) -> float | None:
        values = self._values[name].get(kind)
        return statistics.median(values) if values else None

    def ratio(self, name: str, kind: str = OURS) -> float | None:
        real, ours = self.median(name, REAL), self.median(name, kind)
        return ours / real if real and ours is not None else None

    def table(self) -> str:
        """A row a figure: the real broker's, then each of ours with its ratio."""
        shown = [kind for kind in KINDS if any(kind in kinds for kinds in self._values.values())]
        head = {REAL: "real 5.5.0", OURS: "TriMQ", PURE: "TriMQ, pure Python"}
        columns = [
            word
            for kind in shown
            for word in ((head[kind],) if kind == REAL else (head[kind], "ratio"))
        ]
        lines = [f"| figure | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
        for name in self._values:
            cells = []
            for kind in shown:
                cells.append(figure(self.median(name, kind)))
                if kind != REAL:
                    cells.append(figure(self.ratio(name, kind), ratio=True))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        return "\n".join(lines)


def figure(value: float | None, ratio: bool = False) -> str:
    if value is None:
        return "-"
    if ratio:
        return f"{value:.2f}"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def command_line() -> str:
    """What the user typed, or would type."""
    return " ".join(["python -m bench", *sys.argv[1:]])


def write_section(name: str, title: str, text: str, page: Path = PAGE) -> None:
    """Put a section on the page, in place of what it said before; a new one goes to the end."""
    stamp = (
        f"`{command_line()}`, {datetime.date.today().isoformat()}, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"TriMQ {trimq.__version__}."
    )
    section = f"<!-- {name} -->\n## {title}\n\n{stamp}\n\n{text.strip()}\n<!-- end {name} -->\n"
    old = page.read_text() if page.exists() else ""
    if not old.startswith(_HEAD):
        old = _HEAD
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- end {name} -->\n", re.DOTALL)
    if pattern.search(old):
        page.write_text(pattern.sub(lambda _: section, old))
    else:
        page.write_text(f"{old}\n{section}")
