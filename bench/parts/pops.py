"""POP: handing out a backlog and acknowledging it, with one request for 32 messages or one for each."""

from __future__ import annotations

import time
from typing import Final

from bench.loads import loadgen, rows
from bench.loads.filling import QUEUES, fill
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages import verdicts
from bench.run import Run
from bench.servers.process import usage
from bench.servers.subjects import Subject

TOPIC: Final = "BenchPops"
MESSAGES: Final = 1_000_000
SIZE: Final = 128
BATCH: Final = 32
CONNECTIONS: Final = 4
ACKS: Final = {"batch": "one batch ack", "single": "32 acks"}


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    with run.fleet() as fleet:
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                count = MESSAGES // (50 if run.smoke else 1)
                fill(server.broker_addr, TOPIC, count, SIZE)
        rows.measure(run, fleet, [_row(run, acks) for acks in ACKS])
    return (
        f"{MESSAGES:,} messages of {SIZE} B in {QUEUES} queues; {CONNECTIONS} connections of loadgen pop up to {BATCH} "
        "at a time from all queues for one group, and acknowledge them before they pop again. When the group "
        "has everything, they go on with a new one. Messages are hidden for ten minutes.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [rate(acks) for acks in ACKS])}"
    )


def rate(acks: str) -> str:
    return f"messages/s popped and acknowledged, {ACKS[acks]} for a pop"


def _row(run: Run, acks: str) -> Row:
    words = {"topic": TOPIC, "connections": CONNECTIONS, "batch": BATCH, "acks": acks}

    def flags() -> dict[str, object]:
        """Each run has groups of its own, which begin at the beginning."""
        return {**words, "group": f"pops{time.time_ns()}"}

    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("pop", server.broker_addr, run.pace, **flags())

    def turn(_: str, server: Subject) -> dict[str, float]:
        before = usage(server.broker_pid)
        timed = {"seconds": run.seconds, "warmup": 0}
        found = loadgen.run("pop", server.broker_addr, **flags(), **timed)
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        if not found.messages:
            raise RuntimeError("nothing was popped")
        return {
            rate(acks): found.rate,
            f"p99 of a request, ms, {ACKS[acks]} for a pop": found.p99_ms,
            f"CPU of the broker, us a message, {ACKS[acks]} for a pop": cpu / found.answered * 1e6,
        }

    return Row(rate(acks), warm, turn)
