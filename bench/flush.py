"""SYNC_FLUSH: sends that are answered when they are on the disk, on both brokers."""

from __future__ import annotations

import time
from typing import Final

from bench import loadgen, syncs
from bench.part import Run
from bench.report import Figures, figure
from bench.subjects import KINDS, OURS, REAL, Subject, started

TOPIC: Final = "Flush"
QUEUES: Final = 8
PRODUCERS: Final = (1, 16, 64)
SIZE: Final = 128
SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH"}
# A record of SIZE bytes with its topic and properties.
RECORD: Final = 330


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    figures = Figures()
    why_not = syncs.why_not()
    for number, kind in run.turns():
        with started(kind, run.folder / f"{kind}-{number}", SETTINGS) as server:
            # A JVM compiles itself under load.
            loadgen.run("send", server.broker_addr, **_flags(64, run.seconds, 0))
            for producers in PRODUCERS:
                _one(kind, server, run, figures, producers, not why_not)
    bare = syncs.bare_rate(run.folder, RECORD, run.seconds)
    counted = (
        "Syncs are the calls of fsync, fdatasync and msync by the broker process, its background work included."
        if not why_not
        else f"Syncs could not be counted: {why_not}."
    )
    return (
        f"Synchronous producers of {SIZE} B, each with one request under way. {counted} "
        f"One thread that appends {RECORD} B and calls fdatasync, and does nothing else, manages "
        f"{figure(bare)} a second on this disk.\n\n"
        f"{figures.table()}\n\n" + "\n".join(verdicts(figures, run.kinds))
    )


def _flags(producers: int, seconds: float, warmup: float) -> dict[str, object]:
    return {
        "topic": TOPIC,
        "queues": QUEUES,
        "connections": producers,
        "window": 1,
        "size": SIZE,
        "seconds": seconds,
        "warmup": warmup,
    }


def _one(
    kind: str, server: Subject, run: Run, figures: Figures, producers: int, counts: bool
) -> None:
    # Counted until a moment after the system calls are, so that these are all made under load.
    flags = _flags(producers, run.seconds + 1, run.warmup)
    with loadgen.running("send", server.broker_addr, **flags) as sending:
        calls = 0
        if counts:
            time.sleep(run.warmup)
            calls = syncs.count(server.broker_pid, run.seconds)
        found = loadgen.result(sending)
    figures.add(_rate(producers), kind, found.rate)
    figures.add(_p99(producers), kind, found.p99_ms)
    if counts:
        figures.add(f"syncs a message, {_name(producers)}", kind, calls / run.seconds / found.rate)


def _name(producers: int) -> str:
    return "1 producer" if producers == 1 else f"{producers} producers"


def _rate(producers: int) -> str:
    return f"sends/s, {_name(producers)}"


def _p99(producers: int) -> str:
    return f"p99, ms, {_name(producers)}"


def verdicts(figures: Figures, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """Lines that say of each of ours where it sends at least as much as the real broker."""
    lines = []
    for kind in kinds:
        if kind == REAL:
            continue
        found = [(producers, figures.ratio(_rate(producers), kind)) for producers in PRODUCERS]
        missed = [
            f"{ratio:.2f} with {_name(producers)}"
            for producers, ratio in found
            if ratio is not None and ratio < 1
        ]
        name = "TriMQ" if kind == OURS else "TriMQ, pure Python"
        how = f"missed: {', '.join(missed)}" if missed else "met everywhere"
        lines.append(f"- {name}: the target, at least 1.0 of the real broker's rate, is {how}.")
    return lines
