"""SYNC_FLUSH: sends that are answered when they are on the disk, on both brokers."""

from __future__ import annotations

import time
from typing import Final

from bench.loads import loadgen, rows
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages.figures import Figures, figure
from bench.run import Run
from bench.servers import syncs
from bench.servers.subjects import KINDS, OTHER, OURS, REAL, Subject

TOPIC: Final = "Flush"
QUEUES: Final = 8
PRODUCERS: Final = (1, 16, 64)
SIZE: Final = 128
SETTINGS: Final = {"flushDiskType": "SYNC_FLUSH"}
# A record of SIZE bytes with its topic and properties.
RECORD: Final = 330


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    why_not = syncs.why_not()
    with run.fleet(SETTINGS) as fleet:
        fleet.start()
        rows.measure(run, fleet, [_row(run, producers, not why_not) for producers in PRODUCERS])
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
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        + "\n".join(verdicts(run.figures, run.kinds))
    )


def _row(run: Run, producers: int, counts: bool) -> Row:
    words = {"topic": TOPIC, "queues": QUEUES, "connections": producers, "window": 1, "size": SIZE}

    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("send", server.broker_addr, run.pace, **words)

    def turn(_: str, server: Subject) -> dict[str, float]:
        # Counted until a moment after the system calls are, so that these are all made under load.
        timed = {"seconds": run.seconds + 1, "warmup": run.ramp}
        with loadgen.running("send", server.broker_addr, **words, **timed) as sending:
            calls = 0
            if counts:
                time.sleep(run.ramp)
                calls = syncs.count(server.broker_pid, run.seconds)
            found = loadgen.result(sending)
        figures = {_rate(producers): found.rate, _p99(producers): found.p99_ms}
        if counts:
            figures[f"syncs a message, {_name(producers)}"] = calls / run.seconds / found.rate
        return figures

    return Row(_rate(producers), warm, turn)


def _name(producers: int) -> str:
    return "1 producer" if producers == 1 else f"{producers} producers"


def _rate(producers: int) -> str:
    return f"sends/s, {_name(producers)}"


def _p99(producers: int) -> str:
    return f"p99, ms, {_name(producers)}"


def verdicts(figures: Figures, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """Lines that say of each of ours where it sends at least as much as the real broker; none without that."""
    lines = []
    for kind in kinds if REAL in kinds else ():
        if kind in (REAL, OTHER):
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
