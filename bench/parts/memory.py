"""What a server takes by itself: time until it is ready, its own memory as messages pass, CPU while nothing happens."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.loads import loadgen
from bench.pages.figures import Figures
from bench.pages.verdicts import of_promise
from bench.run import Run
from bench.servers.process import settled_anonymous_mib, usage
from bench.servers.subjects import OTHER, OURS, PURE, REAL, Subject

TOPIC: Final = "Memory"
START_UPS: Final = 5
MILLION: Final = 1_000_000
# Millions of messages by kind. TriMQ's figure must not change over the last `STEADY`: the first ones fill what is kept.
MILLIONS: Final = {REAL: 1, OURS: 8, OTHER: 8, PURE: 1}
STEADY: Final = 4
IDLE_SECONDS: Final = 20
# Until what was sent is written behind, and a JVM has compiled and collected.
SETTLE_SECONDS: Final = 10

READY: Final = "ready after, s"
AT_FIRST: Final = "RssAnon after start, MiB"
IDLE: Final = "idle after that, % of a core"
THREADS: Final = "threads after that"
# What TriMQ promises.
READY_SECONDS: Final = 0.5
LARGEST_MB: Final = 100
GROWN_MB: Final = 2
IDLE_SHARE: Final = 1
_MB_A_MIB: Final = (1 << 20) / 1e6


def after(millions: int) -> str:
    """The name of a figure."""
    return f"RssAnon after {millions} M messages, MiB"


def measure(run: Run) -> str:
    """The table, and whether TriMQ keeps what it promises."""
    figures = run.figures
    for kind in run.kinds:
        print(f"  {kind}", flush=True)
        with _bytecode_kept(run.folder / "bytecode"):
            if kind != REAL:
                _start_up(run, kind, 0)
            for number in range(1, 2 if run.smoke else START_UPS + 1):
                figures.add(READY, kind, _start_up(run, kind, number))
            with run.started(kind, "memory") as server:
                _memory(run, kind, server, figures)
    verdicts = "\n".join(f"- {line}" for line in judged(figures, MILLIONS[OURS]))
    return (
        f"Ready: from the start of the process to its ready line, on an empty store, the median of {START_UPS}, "
        "Python with its bytecode, as it is from the second start on; the real server's NameServer and broker are "
        "started one after the other. Messages of 128 B with a unique key "
        f"come from loadgen, 8 connections x 32 under way. Memory is looked at {SETTLE_SECONDS} s after each million, "
        f"idling for {IDLE_SECONDS} s after the last.\n\n{figures.table()}\n\nTriMQ:\n\n{verdicts}"
    )


@contextmanager
def _bytecode_kept(folder: Path) -> Iterator[None]:
    """Python keeps its bytecode there, also where the environment says that it keeps none."""
    before = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _start_up(run: Run, kind: str, number: int) -> float:
    server = run.server(kind, f"start-{number}")
    began = time.monotonic()
    server.start()
    took = time.monotonic() - began
    server.stop()
    return took


def _memory(run: Run, kind: str, server: Subject, figures: Figures) -> None:
    settle = 0.1 if run.smoke else SETTLE_SECONDS
    time.sleep(settle)
    figures.add(AT_FIRST, kind, settled_anonymous_mib(server.broker_pid))
    for number in range(MILLIONS[kind]):
        loadgen.run(
            "send",
            server.broker_addr,
            **loadgen.usual(TOPIC),
            count=MILLION // (50 if run.smoke else 1),
        )
        time.sleep(settle)
        figures.add(after(number + 1), kind, settled_anonymous_mib(server.broker_pid))
    before = usage(server.broker_pid)
    idle = 1 if run.smoke else IDLE_SECONDS
    time.sleep(idle)
    spent = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    figures.add(IDLE, kind, spent / idle * 100)
    figures.add(THREADS, kind, before.threads)


def judged(figures: Figures, millions: int, kind: str = OURS) -> list[str]:
    """Every promise, what was found and whether it is kept."""
    first = figures.median(after(max(millions - STEADY, 1)), kind)
    last = figures.median(after(millions), kind)
    grown = None if first is None or last is None else (last - first) * _MB_A_MIB
    largest = None if last is None else last * _MB_A_MIB
    return [
        of_promise("ready after", figures.median(READY, kind), READY_SECONDS, "s"),
        of_promise(f"RssAnon after {millions} M messages", largest, LARGEST_MB, "MB"),
        of_promise(
            f"growth over the last {min(STEADY, millions - 1)} M of them", grown, GROWN_MB, "MB"
        ),
        of_promise("idle", figures.median(IDLE, kind), IDLE_SHARE, "% of a core"),
    ]
