"""What a run found: sections of tables, kept as JSON so that a later run can replace single ones."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Curve(msgspec.Struct):
    """How to draw a table: its first column is x, these columns are lines."""

    file: str
    y_label: str
    columns: list[int]


class Table(msgspec.Struct):
    """Figures of one kind; `note` says what they mean and why they are so."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[float | str]]
    curves: list[Curve] = []


class Section(msgspec.Struct):
    """What one measurement gave, with the circumstances."""

    title: str
    tables: list[Table]
    written: str = ""


Figures = dict[str, Section]


def load(path: Path) -> Figures:
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=Figures)


def save(path: Path, figures: Figures) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")


def flatness(table: Table, column: int) -> float:
    """The largest of a column's figures through its smallest."""
    values = [float(row[column]) for row in table.rows]
    return max(values) / min(values) if min(values) > 0 else 0.0
