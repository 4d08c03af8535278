"""Plots of the page: their scales, gaps and what a pointer shows."""

from __future__ import annotations

import re

import pytest

from trimq.spark.offsets.showing.charts import HEAT, Curve, Plot, bars, curves, heat_map

HOUR = 3_600_000
# Midnight in UTC.
DAY = 1_700_006_400_000


def drawn(*points: tuple[int, float | None], is_time: bool = False) -> Plot:
    plot = curves([Curve("a<b", points)], lambda at: f"at {at}", lambda one: f"{one:g}!", is_time)
    assert plot is not None
    return plot


def paths(plot: Plot, kind: str) -> list[str]:
    return re.findall(rf'<path class="{kind}" d="([^"]*)"', plot.html)


def labels(plot: Plot, side: str) -> list[str]:
    (part,) = re.findall(rf'<div class="{side}">(.*?)</div>', plot.html)
    return re.findall(r">([^<]*)</span>", part)


def test_a_curve_begins_at_nothing_and_fits() -> None:
    plot = drawn((0, 0), (1000, 50), (2000, 100))
    assert paths(plot, "line") == ["M0 1000L500 500L1000 0"]
    assert labels(plot, "up") == ["0", "20", "40", "60", "80", "100"]
    assert "a&lt;b" in plot.html
    assert plot.hints["at"] == [0, 0.5, 1]
    assert plot.hints["times"] == ["at 0", "at 1000", "at 2000"]
    assert plot.hints["rows"][0][2] == ["0!", "50!", "100!"]


def test_what_is_not_known_is_a_gap() -> None:
    plot = drawn((0, 10), (1, 10), (2, None), (3, 10), (4, None))
    assert paths(plot, "line") == ["M0 0L250 0"]
    assert paths(plot, "dot") == ["M750 0h0"]
    assert plot.hints["rows"][0][2] == ["10!", "10!", "", "10!", ""]
    assert curves([Curve("a", [(0, None)])], str, str, False) is None
    assert curves([], str, str, False) is None


@pytest.mark.parametrize("value", [0, 7])
def test_one_value_has_a_scale(value: int) -> None:
    plot = drawn((DAY, value))
    assert len(paths(plot, "dot")) == 1
    assert labels(plot, "up")[0] == "0"
    assert len(labels(plot, "up")) >= 2
    assert len(labels(plot, "across")) == 1
    assert plot.hints["at"] == [0.5]


@pytest.mark.parametrize(
    ("most", "last"), [(1, "1"), (3, "3"), (17, "20"), (1200, "1.5k"), (2.1e7, "25M"), (6e12, "6T")]
)
def test_axes_of_numbers(most: float, last: str) -> None:
    found = labels(drawn((0, 0), (1, most)), "up")
    assert found[-1] == last
    assert 2 <= len(found) <= 6 + 1


def test_axes_of_durations_and_times() -> None:
    plot = drawn((DAY, 0), (DAY + 5 * HOUR, 50 * 60_000), is_time=True)
    assert labels(plot, "up") == [f"{minutes * 60_000:g}!" for minutes in range(0, 51, 10)]
    # Whole hours, whatever the zone.
    assert len(labels(plot, "across")) in (5, 6)
    days = labels(drawn((DAY, 1), (DAY + 24 * 20 * HOUR, 1)), "across")
    assert all(re.fullmatch(r"\d\d-\d\d", one) for one in days)


def test_bars() -> None:
    plot = bars([("<x>", 10, "ten"), ("y", 0, "none")])
    assert plot is not None
    assert re.findall(r'style="width:([^"]*)"', plot.html) == ["100.00%", "0.00%"]
    assert "<x>" not in plot.html
    assert bars([]) is None


def test_equal_values_have_one_colour_and_a_scale() -> None:
    plot = heat_map({"g": {("b", 0): (7, "seven"), ("b", 1): (7, "seven")}}, str)
    assert plot is not None
    last = len(HEAT) - 1
    assert re.findall(r"<td[^>]*>", plot.html) == [f'<td class="h{last}">'] * 2
    (scale,) = re.findall(r'<div class="scale">(\d+) .* (\d+)</div>', plot.html)
    assert scale == ("0", "7")


def test_a_map_of_queues() -> None:
    plot = heat_map(
        {
            "g": {("b", 1): (0, "none"), ("b", 10): (1000, "all")},
            "h": {("b", 2): (1, "one"), ("c", 0): (500, "half")},
        },
        str,
    )
    assert plot is not None
    cells = [
        re.findall(r"<td[^>]*>", row) for row in re.findall(r"<tr>(<th title.*?)</tr>", plot.html)
    ]
    last = len(HEAT) - 1
    some, none = '<td class="h{}">'.format, "<td>"
    # A single message is not nothing.
    assert cells == [[some(0), none, some(last), none], [none, some(1), none, some(last // 2)]]
    assert re.findall(r'colspan="(\d+)"', plot.html) == ["3", "1"]
    assert plot.hints["places"] == ["b/1", "b/2", "b/10", "c/0"]
    assert plot.hints["said"] == [["none", "", "all", ""], ["", "one", "", "half"]]
    assert heat_map({}, str) is None
