"""The tables of README.md and docs/speed.md, each written by the part of the benchmarks that measures it.

A table stands between two comments with the name of its part, so that sentences around it stay; where there
is none yet, it comes before what its page goes on with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.pages.figures import Figures, figure, markdown
from bench.pages.report import circumstances
from bench.pages.verdicts import KINDS
from bench.servers.subjects import OURS, REAL, ROOT

# What a warm TriMQ is held to: times the real broker's figure, at least and wished.
PRODUCER: Final = (1.1, 1.3)
MANY_SENDS: Final = (1.4, 2.0)
SINGLE: Final = (1.3, 1.8)
# Messages a second of broker CPU, everywhere.
THRIFT: Final = 2.0
_CPU: Final = "broker CPU, us a"
_KINDS: Final = (
    "transactions/s",
    "timer sends/s",
    "pulls/s by SQL",
    "round trips/s",
    "messages/s popped",
)


@dataclass(frozen=True, slots=True)
class Block:
    """What one part writes into one page."""

    page: str
    part: str
    # The heading or words in front of which it comes at first.
    before: str
    text: Callable[[Figures], str]


def write(part: str, figures: Figures, root: Path = ROOT) -> list[str]:
    """Put in what the part has measured, if the real broker and TriMQ both took part; the pages that changed."""
    if not {REAL, OURS} <= set(figures.kinds):
        return []
    written = []
    for block in BLOCKS:
        if block.part == part:
            page = root / block.page
            page.write_text(_placed(page.read_text(), block, block.text(figures)))
            written.append(block.page)
    return written


def _placed(old: str, block: Block, text: str) -> str:
    begin, end = f"<!-- figures: {block.part} -->\n", f"<!-- end figures: {block.part} -->\n"
    new = f"{begin}{text.strip()}\n{end}"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if pattern.search(old):
        return pattern.sub(lambda _: new, old)
    if block.before not in old:
        raise ValueError(f"{block.page} has no {block.before!r} to put figures before")
    return old.replace(block.before, f"{new}\n{block.before}", 1)


# --- README.md


@dataclass(frozen=True, slots=True)
class Line:
    """One row of README's tables: what users read, the figure behind it, and how it is told."""

    words: str
    name: str
    told: Callable[[float], str]


def _rate(value: float) -> str:
    return f"{round(value, -2):,.0f}"


OFFICIAL: Final = (
    Line("ready after", "start-up, s", lambda value: f"{value:.2g} s"),
    Line("its own memory after the load", "RssAnon after the load, MiB", lambda v: f"{v:,.0f} MiB"),
    Line(
        "CPU when idle, of a core",
        "idle after the load, % of a core",
        lambda value: f"{value:.1f} %",
    ),
    Line(
        "the official Producer, 16 threads, 128 B, sends a second",
        "TPS, official Producer (sync, 16 threads, 128 B)",
        _rate,
    ),
    Line("synchronous sends a second, 16 threads, 128 B", "TPS (sync, 16 threads, 128 B)", _rate),
    Line("the same, 64 threads, 1 KiB", "TPS (sync, 64 threads, 1 KiB)", _rate),
    Line("the same, 1 thread, 128 B", "TPS (sync, 1 threads, 128 B)", _rate),
    Line(
        "broker CPU a message, 16 threads, 128 B",
        f"{_CPU} message (sync, 16 threads, 128 B)",
        lambda value: f"{value:.0f} us",
    ),
    Line(
        "batches of 32, 16 threads, messages a second",
        "TPS (batches of 32, 16 threads, 128 B)",
        _rate,
    ),
    Line(
        "push consumer on a backlog, messages a second",
        "official push consumer on a backlog, msg/s",
        _rate,
    ),
)
CEILING: Final = (
    Line(
        "sends a second, 8 connections x 32 in flight, 128 B",
        "sends/s, 8 connections x 32 under way, 128 B",
        _rate,
    ),
    Line("sends a second, one at a time, 128 B", "sends/s, one request at a time, 128 B", _rate),
    Line("hot pulls of 32, 128 B, messages a second", "msg/s, hot pulls of 32, 128 B", _rate),
    Line("the same, 1 KiB", "msg/s, hot pulls of 32, 1 KiB", _rate),
    Line("cold pulls of 32, 1 KiB, messages a second", "msg/s, cold pulls of 32, 1 KiB", _rate),
)


def _readme(before: str, lines: Sequence[Line]) -> Callable[[Figures], str]:
    def text(figures: Figures) -> str:
        rows = []
        for line in lines:
            found = [figures.median(line.name, kind) for kind in (REAL, OURS)]
            told = ["-" if value is None else line.told(value) for value in found]
            rows.append([line.words, *told, figure(figures.ratio(line.name), ratio=True)])
        return f"{before} {circumstances()}\n\n{markdown(['', 'RocketMQ', 'TriMQ', 'ratio'], rows)}"

    return text


# --- docs/speed.md


def floors(figures: Figures) -> str:
    """Every ratio that has a floor, and whether it is met."""
    rows = []
    for name in figures.names:
        limits = _limits(name)
        ratio = figures.ratio(name)
        if limits is None or ratio is None:
            continue
        floor, aim = limits
        shown = name
        if name.startswith(_CPU):
            ratio = 1 / ratio
            load = re.sub("^ (send|message),? ?", "", name.removeprefix(_CPU))
            shown = f"messages a second of broker CPU, {load}"
        met = "no" if ratio < floor else "the floor" if ratio < aim else "the aim"
        rows.append([shown, f"{ratio:.2f}", f"{floor:g}", f"{aim:g}", met])
    table = markdown(
        ["TriMQ over the real broker, both warm", "ratio", "floor", "aim", "met"], rows
    )
    return f"{circumstances()}\n\n{table}"


def _limits(name: str) -> tuple[float, float] | None:
    """Floor and aim of a figure's ratio; of CPU it is the inverse that has them."""
    if name.startswith(_CPU):
        return THRIFT, THRIFT
    if name.startswith("TPS, official Producer"):
        return PRODUCER
    if name.startswith("sends/s, 8 connections"):
        return MANY_SENDS
    if name.startswith(("sends/s, one request at a time", "msg/s, hot pulls")):
        return SINGLE
    if name.startswith(_KINDS):
        return KINDS
    return None


def _table(figures: Figures) -> str:
    return f"{circumstances()}\n\n{figures.table()}"


def _floors_and_table(figures: Figures) -> str:
    return f"{floors(figures)}\n\n{figures.table()}"


def _headed(title: str, text: Callable[[Figures], str]) -> Callable[[Figures], str]:
    return lambda figures: f"## {title}\n\n{text(figures)}"


_SPEED: Final = "docs/speed.md"
_AFTER_SPEED: Final = "## Where the time goes"
_AFTER_README: Final = "[bench/RESULTS.md](bench/RESULTS.md) has the whole table"
BLOCKS: Final = (
    Block(
        "README.md",
        "official",
        _AFTER_README,
        _readme("RocketMQ and TriMQ (compiled), both warm, with the official client:", OFFICIAL),
    ),
    Block(
        "README.md",
        "ceiling",
        _AFTER_README,
        _readme("The same with a load generator that needs almost no processor time:", CEILING),
    ),
    Block(_SPEED, "official", _AFTER_SPEED, _headed("Warm, with the official client", floors)),
    Block(_SPEED, "ceiling", _AFTER_SPEED, _headed("Warm, by bench/loadgen", floors)),
    Block(_SPEED, "started", _AFTER_SPEED, _headed("Just started", _table)),
    Block(_SPEED, "transactions", _AFTER_SPEED, _headed("Transactions", floors)),
    Block(_SPEED, "timers", _AFTER_SPEED, _headed("Timer messages", _floors_and_table)),
    Block(_SPEED, "pending", _AFTER_SPEED, _headed("A million timer messages that wait", _table)),
    Block(_SPEED, "filters", _AFTER_SPEED, _headed("Pulls by SQL92", floors)),
    Block(_SPEED, "replies", _AFTER_SPEED, _headed("Request-reply", floors)),
    Block(_SPEED, "copies", _AFTER_SPEED, _headed("Masters and slaves", _table)),
    Block(_SPEED, "pops", _AFTER_SPEED, _headed("POP", _floors_and_table)),
    Block(
        _SPEED,
        "unacked",
        _AFTER_SPEED,
        _headed("A million popped messages that nobody acknowledges", _table),
    ),
)
