"""docs/plots/speed.svg: the tables of README.md as bars, how many times better than RocketMQ TriMQ is in each row.

The tables are read where they stand: `make bench` writes them, and `make docs` the plot.
"""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

README: Final = Path(__file__).resolve().parents[1] / "README.md"
PARTS: Final = ("official", "ceiling")
# Rows in which less is better: by what they begin with.
COSTS: Final = ("ready after", "its own memory", "CPU", "broker CPU")
TICKS: Final = (1, 2, 5, 10, 20)
# The axis is logarithmic, and begins below 1: a row may be worse.
LOW: Final = 0.7
HIGH: Final = 32
WIDTH: Final = 760
# Where the axis begins and ends.
LEFT: Final = 330
RIGHT: Final = 600
ROW: Final = 20
TOP: Final = 44
BETTER: Final = "#0b6fa4"
WORSE: Final = "#c4541d"


class Row(NamedTuple):
    """What README says of it, and how many times better TriMQ is: below 1, worse."""

    words: str
    real: str
    ours: str
    better: float


def rows(text: str) -> list[Row]:
    """Of both tables of README's text. A row without one of its figures is left out."""
    found = []
    for part in PARTS:
        table = text.partition(f"<!-- figures: {part} -->")[2].partition("<!-- end figures")[0]
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) != 4:
                continue
            words, real, ours, _ = cells
            under, over = _number(real), _number(ours)
            if under and over:
                better = under / over if words.startswith(COSTS) else over / under
                found.append(Row(words, real, ours, better))
    return found


def _number(cell: str) -> float:
    """0 for a cell that does not begin with a number."""
    found = re.match(r"[\d,]*\.?\d+", cell)
    return float(found[0].replace(",", "")) if found else 0.0


def drawn(found: list[Row]) -> str:
    """The picture: a bar a row, to the right of 1 where TriMQ is better."""
    bottom = TOP + ROW * len(found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" '
        'font-family="sans-serif" font-size="11" fill="#333333">',
        f'<rect width="{WIDTH}" height="{bottom + 30}" fill="#ffffff"/>',
        _text(LEFT - 8, 20, "TriMQ against RocketMQ", "end"),
        _text((_at(1) + RIGHT) / 2, 20, "times better", "middle"),
        _text(WIDTH - 10, 20, "RocketMQ / TriMQ", "end"),
    ]
    for tick in TICKS:
        parts.append(f'<path d="M{_at(tick):.1f} {TOP - 14}V{bottom}" stroke="#dddddd"/>')
        parts.append(_text(_at(tick), bottom + 16, f"{tick} x", "middle"))
    for number, row in enumerate(found):
        y = TOP + ROW * number
        ends = sorted((_at(1), _at(min(max(row.better, LOW), HIGH))))
        color = BETTER if row.better >= 1 else WORSE
        width = ends[1] - ends[0]
        parts.append(_text(LEFT - 8, y + 4, row.words, "end"))
        parts.append(
            f'<rect x="{ends[0]:.1f}" y="{y - 6}" width="{width:.1f}" height="12" fill="{color}"/>'
        )
        parts.append(_text(WIDTH - 10, y + 4, f"{row.real} / {row.ours}", "end"))
    return "\n".join([*parts, "</svg>", ""])


def _at(value: float) -> float:
    """The place of a ratio on the axis."""
    share = math.log(value / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (RIGHT - LEFT)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def plot() -> str:
    """The plot of the README of this tree."""
    return drawn(rows(README.read_text("utf-8")))
