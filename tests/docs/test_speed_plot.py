"""The plot of README's tables: which rows it has, and on which side of 1 their bars are."""

from __future__ import annotations

import re

import pytest

from bench.pages.docs import CEILING, OFFICIAL
from docs import speed_plot
from docs.speed_plot import BETTER, WORSE, Row, drawn, rows

TABLES = """
<!-- figures: official -->
| | RocketMQ | TriMQ | ratio |
|---|---:|---:|---:|
| ready after | 5.0 s | 0.50 s | 0.10 |
| sends a second | 20,000 | 10,000 | 0.50 |
| not measured | - | 1 | - |
<!-- end figures: official -->
| elsewhere | 1 | 2 | 2.00 |
"""


def test_it_has_each_row_of_the_readme() -> None:
    found = rows(speed_plot.README.read_text("utf-8"))
    words = [row.words.partition(" (")[0] for row in found]
    assert words == [line.words for line in (*OFFICIAL, *CEILING)]


def test_of_costs_less_is_better_and_of_rates_more() -> None:
    assert rows(TABLES) == [
        Row("ready after", "5.0 s", "0.50 s", 10.0),
        Row("sends a second", "20,000", "10,000", 0.5),
    ]


@pytest.mark.parametrize(("better", "color"), [(10.0, BETTER), (1.0, BETTER), (0.5, WORSE)])
def test_the_colour_says_which_is_better(better: float, color: str) -> None:
    picture = drawn([Row("a < b", "1", "2", better)])
    bars = re.findall(r'height="12" fill="(#\w+)"', picture)
    assert bars == [color]
    assert "a &lt; b" in picture


def test_bars_stay_within_the_picture() -> None:
    found = re.findall(r'x="([\d.]+)" y="\d+" width="([\d.]+)"', drawn([Row("", "", "", 1e6)]))
    assert [float(x) + float(width) for x, width in found] == [pytest.approx(speed_plot.RIGHT)]
