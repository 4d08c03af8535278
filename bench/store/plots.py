"""Line charts as SVG, small enough to keep: x logarithmic, y from zero or logarithmic too."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

WIDTH: Final = 640
HEIGHT: Final = 300
LEFT: Final = 64
RIGHT: Final = 190
TOP: Final = 16
BOTTOM: Final = 44
COLORS: Final = ("#0b6fa4", "#c4541d", "#3c8d40", "#7a4fa3", "#8a6d1d", "#555555")
# Lines whose figures differ more than this share no linear axis.
_LOGARITHMIC_FROM: Final = 30


class Axis(NamedTuple):
    """Maps values to pixels; `ticks` are values with a line of their own."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: list[float]

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def chart(x_label: str, y_label: str, x: list[float], lines: dict[str, list[float]]) -> str:
    """One line a name, with dots where it was measured."""
    across = Axis(min(x), max(x), LEFT, WIDTH - RIGHT, True, x)
    up = _y_axis([value for values in lines.values() for value in values])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="#333333">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_grid(across, up),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label, "middle"),
        f'<g transform="rotate(-90 14 {(HEIGHT - BOTTOM + TOP) / 2:.0f})">'
        f"{_text(14, (HEIGHT - BOTTOM + TOP) / 2, y_label, 'middle')}</g>",
    ]
    for number, (name, values) in enumerate(lines.items()):
        parts += _line(across, up, x, values, COLORS[number % len(COLORS)])
        parts += _legend(number, name)
    return "\n".join([*parts, "</svg>", ""])


def _y_axis(values: list[float]) -> Axis:
    bottom, top = HEIGHT - BOTTOM, TOP
    high = max(values)
    low = min((value for value in values if value > 0), default=1.0)
    if high / low > _LOGARITHMIC_FROM:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        ticks = [10.0**power for power in range(first, last + 1)]
        return Axis(ticks[0], ticks[-1], bottom, top, True, ticks)
    step = _round_step(high / 5)
    count = math.ceil(high / step)
    ticks = [step * number for number in range(count + 1)]
    return Axis(0, ticks[-1], bottom, top, False, ticks)


def _round_step(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= value)


def _grid(across: Axis, up: Axis) -> list[str]:
    parts: list[str] = []
    for value in up.ticks:
        y = up.at(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        parts.append(_text(LEFT - 6, y + 4, _short(value), "end"))
    for value in across.ticks:
        parts.append(_text(across.at(value), HEIGHT - BOTTOM + 16, _short(value), "middle"))
    return parts


def _line(across: Axis, up: Axis, x: list[float], values: list[float], color: str) -> list[str]:
    points = [
        f"{across.at(left):.1f},{up.at(value):.1f}" for left, value in zip(x, values, strict=True)
    ]
    dots = [f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="3"/>' for p in points]
    return [
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="2"/>',
        f'<g fill="{color}">{"".join(dots)}</g>',
    ]


def _legend(number: int, name: str) -> list[str]:
    x, y = WIDTH - RIGHT + 16, TOP + 10 + number * 18
    color = COLORS[number % len(COLORS)]
    return [
        f'<path d="M{x} {y - 4}h16" stroke="{color}" stroke-width="2"/>',
        _text(x + 22, y, name, "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped}</text>'


def _short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
