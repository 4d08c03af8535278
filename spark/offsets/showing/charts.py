"""Plots as HTML: curves, bars and a map of queues, which a page fits to its width without a library's script.

Texts from outside are escaped here. What the pointer shows is in `Plot.hints`, which the page's script reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any, Final

COLOURS: Final = (
    *("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"),
    *("#be185d", "#4d7c0f", "#9333ea", "#475569", "#b45309", "#0f766e"),
)
# From nothing to the largest value.
HEAT: Final = (
    *("#f5f7fa", "#fff3c4", "#fde68a", "#fcd34d", "#fbb040", "#f98d3c"),
    *("#f2683c", "#e0453a", "#c42a3a", "#9d1638", "#6f0d2f"),
)
# At most this many numbered lines on an axis.
_LINES: Final = 5
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
# Milliseconds between lines of an axis of times or durations.
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000),
    *(_MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY),
)
# Inner units of a plot's height and width.
_SIZE: Final = 1000
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Plot:
    """HTML, and what is shown where the pointer is."""

    html: str
    hints: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Curve:
    """Values at times in milliseconds since 1970; None: not known, the curve has a gap."""

    name: str
    points: Sequence[tuple[int, float | None]]


def curves(
    found: Sequence[Curve], moment: Callable[[int], str], text: Format, is_time: bool
) -> Plot | None:
    """Over time, from 0 on; `text` writes a value. None without any value."""
    values = [value for curve in found for _, value in curve.points if value is not None]
    if not values:
        return None
    times = sorted({at for curve in found for at, _ in curve.points})
    low, high = times[0], times[-1]
    step = _step(max(values), is_time)
    top = max(step, math.ceil(max(values) / step) * step)

    def place(at: int, value: float) -> tuple[float, float]:
        # A single moment is in the middle.
        across = (at - low) / (high - low) if high > low else 0.5
        return _SIZE * across, _SIZE * (1 - value / top)

    lines = "".join(_drawn(curve, _colour(number), place) for number, curve in enumerate(found))
    grid = [step * number for number in range(round(top / step) + 1)]
    rules = "".join(f'<path class="rule" d="M0 {place(low, at)[1]:g}H{_SIZE}"/>' for at in grid)
    across = "".join(
        f'<span style="left:{place(at, 0)[0] / _SIZE:.2%}">{escape(_clock(at, high - low))}</span>'
        for at in _moments(low, high)
    )
    label = text if is_time else _short
    up = "".join(f'<span style="bottom:{at / top:.2%}">{escape(label(at))}</span>' for at in grid)
    html = (
        f'<div class="curves"><div class="up">{up}</div><div class="field">'
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" preserveAspectRatio="none" role="img">{rules}{lines}</svg>'
        f'<i class="here"></i></div><div class="across">{across}</div></div>{_legend(found)}'
    )
    return Plot(html, _curve_hints(found, times, moment, text, low, high))


def _drawn(curve: Curve, colour: str, place: Callable[[int, float], tuple[float, float]]) -> str:
    """A line through neighbouring known values; a single value is a dot."""
    runs: list[list[str]] = [[]]
    for at, value in curve.points:
        if value is None:
            runs.append([])
        else:
            x, y = place(at, value)
            runs[-1].append(f"{x:.4g} {y:.4g}")
    lines = "".join(f"M{'L'.join(run)}" for run in runs if len(run) > 1)
    # A line of no length with round ends is a dot.
    dots = "".join(f"M{run[0]}h0" for run in runs if len(run) == 1)
    kinds = (("line", lines), ("dot", dots))
    return "".join(f'<path class="{kind}" d="{d}" stroke="{colour}"/>' for kind, d in kinds if d)


def _curve_hints(
    found: Sequence[Curve],
    times: Sequence[int],
    moment: Callable[[int], str],
    text: Format,
    low: int,
    high: int,
) -> dict[str, Any]:
    rows = []
    for number, curve in enumerate(found):
        known = dict(curve.points)
        texts = ("" if (value := known.get(at)) is None else text(value) for at in times)
        rows.append([curve.name, _colour(number), list(texts)])
    spread = high - low
    places = [round((at - low) / spread, 4) if spread else 0.5 for at in times]
    return {"at": places, "times": [moment(at) for at in times], "rows": rows}


def _legend(found: Sequence[Curve]) -> str:
    names = (
        f'<span><i style="background:{_colour(number)}"></i>{escape(curve.name)}</span>'
        for number, curve in enumerate(found)
    )
    return f'<div class="legend">{"".join(names)}</div>'


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _step(most: float, is_time: bool) -> float:
    """How far apart the lines are on an axis that begins at 0."""
    least = most / _LINES
    if is_time:
        return float(next((step for step in _STEPS if step >= least), _STEPS[-1]))
    if least <= 1:
        return 1
    size = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= least)


def _short(value: float) -> str:
    """A number with few digits, as axes have: `750`, `1.5k`, `20M`."""
    for size, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"


def _moments(low: int, high: int) -> Iterable[int]:
    """Whole local times in between, or the only one that there is."""
    if low == high:
        return [low]
    step = int(_step(high - low, True))
    # Where local time is ahead of UTC, a day begins that much earlier.
    offset = datetime.fromtimestamp(low / 1000).astimezone().utcoffset()
    ahead = round(offset.total_seconds() * 1000) if offset else 0
    first = -(-(low + ahead) // step) * step - ahead
    return list(range(first, high + 1, step))


def _clock(at: int, spread: int) -> str:
    """As short as the length of the axis allows."""
    when = datetime.fromtimestamp(at / 1000)
    if 0 < spread < 10_000:
        return when.strftime("%H:%M:%S.%f")[:-3]
    if spread < _LINES * _MINUTE:
        return when.strftime("%H:%M:%S")
    if spread < _DAY:
        return when.strftime("%H:%M")
    return when.strftime("%m-%d" if spread >= _LINES * _DAY else "%m-%d %H:%M")


def bars(rows: Sequence[tuple[str, float, str]]) -> Plot | None:
    """A name, a length from 0 on, and what is written beside it. None without rows."""
    if not rows:
        return None
    most = max(length for _, length, _ in rows) or 1
    lines = (
        f'<span title="{escape(name)}">{escape(name)}</span>'
        f'<div><i style="width:{length / most:.2%}"></i></div><b>{escape(text)}</b>'
        for name, length, text in rows
    )
    return Plot(f'<div class="bars">{"".join(lines)}</div>')


Place = tuple[str, int]


def heat_map(rows: Mapping[str, Mapping[Place, tuple[float, str]]], text: Format) -> Plot | None:
    """A row for each name, a cell for each broker's queue: a value, and what is said about it.

    Colours go from 0 to the largest value, so equal values have one colour and the scale says which. None
    without cells.
    """
    places = sorted({place for row in rows.values() for place in row})
    if not places:
        return None
    most = max(value for row in rows.values() for value, _ in row.values())
    brokers: dict[str, int] = {}
    for broker, _ in places:
        brokers[broker] = brokers.get(broker, 0) + 1
    head = "".join(
        f'<th colspan="{count}" title="{escape(broker)}">{escape(broker)}</th>'
        for broker, count in brokers.items()
    )
    body = "".join(
        f'<tr><th title="{escape(name)}">{escape(name)}</th>'
        + "".join(_cell(row.get(place), most) for place in places)
        + "</tr>"
        for name, row in rows.items()
    )
    scale = "".join(f'<i class="h{number}"></i>' for number in range(len(HEAT)))
    html = (
        f'<div class="wide"><table class="heat"><thead><tr><th></th>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><div class="scale">{escape(text(0))} {scale} {escape(text(most))}</div>'
    )
    hints = {
        "places": [f"{broker}/{number}" for broker, number in places],
        "said": [
            [row[place][1] if place in row else "" for place in places] for row in rows.values()
        ],
    }
    return Plot(html, hints)


def _cell(found: tuple[float, str] | None, most: float) -> str:
    if found is None:
        return "<td></td>"
    # Only 0 has the first colour.
    last = len(HEAT) - 1
    level = max(1, math.ceil(found[0] / most * last)) if found[0] > 0 else 0
    return f'<td class="h{level}"></td>'
