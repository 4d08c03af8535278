"""docs/store-speed.md and its plots, from the figures that were measured."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Final

from bench.store.figures import Curve, Figures, Section, Table, flatness
from bench.store.plots import chart
from trimq.compiled import MODE

FLAT: Final = 1.2
_INTRODUCTION: Final = """# How fast the store is

Written by `python -m bench.store --write-docs` from what it measured; do not edit. Every section names its
command and date. The store runs alone, in one thread of one process, without network or clients:
`MessageStore` is called as the broker calls it. [bench/RESULTS.md](../bench/RESULTS.md) has the whole broker beside
the real one.

A figure is called flat when its largest value is at most 20 % above its smallest.
"""


def circumstances(command: str, date: str) -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"`{command}`, {date}; {os.cpu_count()} cores, {memory:.0f} GiB of memory, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()} "
        f"({MODE})"
    )


def write(docs: Path, figures: Figures) -> None:
    plots = docs / "plots"
    plots.mkdir(exist_ok=True)
    parts = [_INTRODUCTION]
    for section in figures.values():
        parts.append(_section(section))
        for table in section.tables:
            for curve in table.curves:
                (plots / curve.file).write_text(drawn(table, curve))
    (docs / "store-speed.md").write_text("\n".join(parts))


def text(section: Section) -> str:
    """The tables alone, for the terminal."""
    return "\n\n".join(f"{table.title}\n{rows(table)}" for table in section.tables)


def _section(section: Section) -> str:
    parts = [f"## {section.title}\n", f"{section.written}.\n"]
    for table in section.tables:
        parts += [f"### {table.title}\n", f"{table.note}\n", f"{rows(table)}\n"]
        if table.curves:
            parts += [f"{verdict(table)}\n"]
            for curve in table.curves:
                names = ", ".join(_plain(table.columns[column]) for column in curve.columns)
                parts.append(f"![{names}](plots/{curve.file})\n")
    return "\n".join(parts)


def verdict(table: Table) -> str:
    """How far each measured column is from flat."""
    flat: list[str] = []
    steep: list[str] = []
    for column in [column for curve in table.curves for column in curve.columns]:
        ratio = flatness(table, column)
        name = _plain(table.columns[column])
        (flat if ratio <= FLAT else steep).append(f"{name} (x {ratio:.2f})")
    parts = []
    if flat:
        parts.append(f"Flat: {', '.join(flat)}.")
    if steep:
        parts.append(f"Not flat: {', '.join(steep)}.")
    return " ".join(parts)


def drawn(table: Table, curve: Curve) -> str:
    x = [float(row[0]) for row in table.rows]
    lines = {
        _plain(table.columns[column]): [float(row[column]) for row in table.rows]
        for column in curve.columns
    }
    return chart(table.columns[0], curve.y_label, x, lines)


def _plain(column: str) -> str:
    """Without the unit, which the axis has."""
    return re.sub(r", \w+$", "", column)


def rows(table: Table) -> str:
    lines = [
        "| " + " | ".join(table.columns) + " |",
        "|" + "---:|" * len(table.columns),
        *("| " + " | ".join(map(_cell, row)) + " |" for row in table.rows),
    ]
    return "\n".join(lines)


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if value == int(value) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
