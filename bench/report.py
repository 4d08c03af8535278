"""The table of a benchmark run, as Markdown."""

import argparse
import datetime
import importlib.util
import os
import platform
from collections.abc import Mapping


def table(medians: Mapping[str, Mapping[str, float]]) -> str:
    """One row a figure: both absolute values and TriMQ's ratio to the real broker."""
    lines = ["| figure | real 5.5.0 | TriMQ | ratio |", "|---|---:|---:|---:|"]
    for name, kinds in medians.items():
        real, ours = kinds["real"], kinds["trimq"]
        ratio = f"{ours / real:.2f}" if real else "-"
        lines.append(f"| {name} | {_figure(real)} | {_figure(ours)} | {ratio} |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def page(rows: str, arguments: argparse.Namespace) -> str:
    """The page that is kept in the repository: table, machine, date, command."""
    command = f"python -m bench --rounds {arguments.rounds} --seconds {arguments.seconds}"
    return f"""# Measurements

Written by `{command}` on {datetime.date.today().isoformat()}.
Machine: {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}
({build_mode()}). Medians over {arguments.rounds} round(s) in which the real broker and TriMQ ran alternately, each with
an empty store; clients, NameServer and broker share the cores. The real broker ran with a heap of 2 GiB.
CPU is that of the broker process (TriMQ's holds the NameServer too). RssAnon is memory that is not file pages.
Idle is measured when the load has been over for ten seconds.

{rows}
"""


def build_mode() -> str:
    """Whether the modules that every message crosses are compiled."""
    found = importlib.util.find_spec("codec.frame")
    compiled = found is not None and not (found.origin or "").endswith(".py")
    return "compiled" if compiled else "pure Python"
