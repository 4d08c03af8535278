"""Pulls by SQL92: what matches all messages, half of them, and one in a hundred, evenly spread."""

from __future__ import annotations

from typing import Final

from bench.loads import loadgen, rows
from bench.loads.filling import QUEUES, fill
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages import verdicts
from bench.run import Run
from bench.servers.process import usage
from bench.servers.subjects import Subject

TOPIC: Final = "BenchFilters"
MESSAGES: Final = 1_000_000
SIZE: Final = 128
BATCH: Final = 32
SETTINGS: Final = {"enablePropertyFilter": "true"}
# By the percentage of messages that they choose.
EXPRESSIONS: Final = {100: "n >= 0", 50: "n < 50", 1: "n = 7"}


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    with run.fleet(SETTINGS) as fleet:
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                count = MESSAGES // (50 if run.smoke else 1)
                fill(server.broker_addr, TOPIC, count, SIZE, numbered=True)
        rows.measure(run, fleet, [_row(run, share) for share in EXPRESSIONS])
    shown = ", ".join(f"`{text}` ({share} %)" for share, text in EXPRESSIONS.items())
    return (
        f"{MESSAGES:,} messages of {SIZE} B in {QUEUES} queues, whose property n goes from 0 to 99 over and over; "
        f"{QUEUES} connections of loadgen pull {BATCH} at a time, each one queue from its beginning to its end and "
        f"again, by {shown}. A pull looks at 800 messages at most.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [rate(share) for share in EXPRESSIONS])}"
    )


def rate(share: int) -> str:
    return f"pulls/s by SQL, {share} % match"


def _row(run: Run, share: int) -> Row:
    words = {"topic": TOPIC, "queues": QUEUES, "connections": QUEUES, "batch": BATCH}
    words["sql"] = EXPRESSIONS[share]

    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("pull", server.broker_addr, run.pace, **words)

    def turn(_: str, server: Subject) -> dict[str, float]:
        before = usage(server.broker_pid)
        timed = {"seconds": run.seconds, "warmup": 0}
        found = loadgen.run("pull", server.broker_addr, **words, **timed)
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        if not found.messages:
            raise RuntimeError(f"nothing was pulled by {EXPRESSIONS[share]}")
        return {
            rate(share): found.requests / found.seconds,
            f"messages/s by SQL, {share} % match": found.rate,
            f"p99 of a pull by SQL, ms, {share} % match": found.p99_ms,
            f"CPU of the broker, us a pull by SQL, {share} % match": cpu / found.requests * 1e6,
        }

    return Row(rate(share), warm, turn)
