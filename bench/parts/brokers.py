"""`trimq server --brokers N`: what a process a broker costs, and what several of them add up to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from bench.loads import loadgen
from bench.loads.settling import Pace, WarmUp
from bench.pages.figures import Figures, figure, markdown
from bench.run import Run
from bench.servers.families import Family
from bench.servers.subjects import OURS

TOPIC: Final = "BenchBrokers"
# As many for a family as for a plain server, shared out among its brokers.
CONNECTIONS: Final = 8
WINDOW: Final = 32
SIZE: Final = 128
_WARM_SECONDS: Final = 15
PLAIN: Final = "a plain server"
# So many brokers, from so many cores on, have at least so many times the rate of what.
FLOORS: Final = (
    (1, 1, 0.97, PLAIN),
    (2, 2, 0.95, "--brokers 1"),
    (4, 8, 3.2, "--brokers 1"),
)


def measure(run: Run) -> str:
    """Sends a second of all brokers together, and which floors are met."""
    cores = os.cpu_count() or 1
    wanted = [brokers for brokers, least, _, _ in FLOORS if cores >= least]
    for number in range(run.rounds):
        print(f"  round {number + 1} of {run.rounds}", flush=True)
        # In turn, so that a machine that changes changes them all.
        for brokers in wanted if number % 2 else wanted[::-1]:
            with _family(run, brokers, number) as addresses:
                _load(run, _name(brokers), addresses)
        with run.started(OURS, "plain") as server:
            _load(run, PLAIN, [server.broker_addr])
    names = (PLAIN, *map(_name, wanted))
    rows = [[name, figure(run.figures.median(name, OURS))] for name in names]
    return (
        f"{CONNECTIONS} connections of loadgen with {WINDOW} requests under way each, {SIZE} B, shared out among the "
        f"brokers; clients and brokers on the same {cores} cores.\n\n"
        f"{markdown(['', 'sends/s'], rows)}\n\n{run.figures.warm_up_table()}\n\n"
        + "\n".join(f"- {line}" for line in verdicts(run.figures, cores))
    )


def verdicts(figures: Figures, cores: int) -> list[str]:
    lines = []
    for brokers, least, floor, of in FLOORS:
        name = _name(brokers)
        under, over = figures.median(of, OURS), figures.median(name, OURS)
        if cores < least:
            lines.append(f"{name}: skipped, it needs {least} cores and there are {cores}.")
        elif under and over:
            met = "met" if over / under >= floor else "missed"
            ratio = figure(over / under, ratio=True)
            lines.append(f"{name}: {ratio} of {of}, the floor of {floor:g} is {met}.")
    return lines


def _name(brokers: int) -> str:
    return f"--brokers {brokers}"


@contextmanager
def _family(run: Run, brokers: int, number: int) -> Iterator[list[str]]:
    family = Family(run.home(OURS, f"family-{brokers}-{number}"), brokers)
    try:
        yield family.addresses
    finally:
        family.stop()


def _load(run: Run, name: str, addresses: list[str]) -> None:
    """One loadgen for each broker, all at the same time."""
    words: dict[str, object] = {
        "topic": TOPIC,
        "queues": 8,
        "connections": CONNECTIONS // len(addresses),
        "window": WINDOW,
        "size": SIZE,
    }

    # No JVM is among them, and several at a time do not settle: whose turn it is on a core changes.
    pace = Pace(run.pace.every, min(run.pace.limit, _WARM_SECONDS))

    def warm(addr: str) -> WarmUp:
        return loadgen.warmed("send", addr, pace, **words)

    def rate(addr: str) -> float:
        found = loadgen.run("send", addr, seconds=run.seconds, warmup=run.ramp, **words)
        return found.rate

    with ThreadPoolExecutor(len(addresses)) as pool:
        for found in pool.map(warm, addresses):
            run.warmed(name, OURS, found)
        run.figures.add(name, OURS, sum(pool.map(rate, addresses)))
