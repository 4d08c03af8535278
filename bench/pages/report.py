"""The page that keeps what was measured: bench/RESULTS.md."""

from __future__ import annotations

import datetime
import os
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import trimq
from bench.servers.subjects import ROOT
from bench.servers.trees import Against

_PROGRAM: Final = "python -m bench"
PAGE: Final = ROOT / "bench" / "RESULTS.md"
_HEAD: Final = """# Measurements

Each section is written by the command that it names; others leave it as it is. `make bench` runs them all.
Clients, NameServer and broker share the machine's cores. All servers of a section are started once, on empty stores;
the one whose turn it is runs, the others are stopped by the kernel meanwhile. Before a row counts, each server gets
that row's load until three rates in a row, of five seconds each, lie within 3 % of each other, for 90 s at most; the
second table of a section says how long that took. Then rounds of all servers follow each other, and a figure
is their median. Sections without such a table measure what is not warm, or were recorded before that rule. A ratio is
TriMQ's figure over the real broker's. The real broker runs with a heap of 2 GiB, as its users are told. CPU is that
of the broker process (TriMQ's holds the NameServer too). RssAnon is memory that is not file pages.
"""


def command_line(
    words: Sequence[str], against: Against | None = None, program: str = _PROGRAM
) -> str:
    """What the user typed, or would type; another tree is its commit, wherever it lies."""
    shown = list(words)
    if against is not None:
        at = next(i for i, word in enumerate(shown) if word.startswith("--against"))
        if "=" not in shown[at]:
            del shown[at + 1]
        shown[at] = f"--against {against.other_commit}"
    return " ".join([program, *shown])


def circumstances(against: Against | None = None, program: str = _PROGRAM) -> str:
    """The command, when and where it ran."""
    return (
        f"`{command_line(sys.argv[1:], against, program)}`, {datetime.date.today().isoformat()}, "
        f"{os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"TriMQ {trimq.__version__}."
    )


def write_section(
    name: str,
    title: str,
    text: str,
    page: Path = PAGE,
    against: Against | None = None,
    program: str = _PROGRAM,
) -> None:
    """Put a section on the page, in place of what it said before; a new one goes to the end."""
    section = (
        f"<!-- {name} -->\n## {title}\n\n{circumstances(against, program)}\n\n{text.strip()}\n"
        f"<!-- end {name} -->\n"
    )
    old = page.read_text() if page.exists() else ""
    if not old.startswith(_HEAD):
        # The head's words have changed: sections stay.
        first = old.find("<!-- ")
        old = f"{_HEAD}\n{old[first:]}" if first >= 0 else _HEAD
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- end {name} -->\n", re.DOTALL)
    if pattern.search(old):
        page.write_text(pattern.sub(lambda _: section, old))
    else:
        page.write_text(f"{old}\n{section}")
