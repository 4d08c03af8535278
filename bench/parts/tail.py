"""The tail of sends at a fixed rate: undisturbed, and while the broker has something else to do.

One server a round. Its store gets a backlog, then it is started anew, so that the backlog lies on the disk
only; the disturbances come one after the other, and sends are measured as long as each goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from bench.loads import loadgen
from bench.loads.filling import forget_pages
from bench.loads.loadgen import Measured
from bench.loads.settling import WarmUp
from bench.pages.figures import Figures, figure
from bench.parts.disturbances import (
    BODY,
    LIMIT_SECONDS,
    LOG_FILE,
    MESSAGES,
    Busy,
    Disturbances,
    settings,
)
from bench.run import Run
from bench.servers.subjects import OTHER, OURS, REAL, Subject, store_of

TOPIC: Final = "Tail"
QUEUES: Final = 8
RATE: Final = 2000
CONNECTIONS: Final = 4
SIZE: Final = 1024
WARM_UP: Final = 1
WARMED: Final = f"sends of {SIZE} B, {CONNECTIONS} connections, one under way on each"
SETTLE_SECONDS: Final = 3
FACTOR: Final = 2

UNDISTURBED: Final = "undisturbed"
# In this order: offsets are written every few seconds from then on.
DISTURBED: Final[dict[str, Callable[[Disturbances], AbstractContextManager[Busy]]]] = {
    "a cold backlog is read": Disturbances.cold_reader,
    "500 pulls are held": Disturbances.held_pulls,
    "old files are deleted": Disturbances.retention,
    "a million offsets persist": Disturbances.offsets,
}
PERCENTILES: Final = ("p50", "p99", "p99.9")


def measure(run: Run) -> str:
    """The table of all, and the one that says what it means."""
    figures = run.figures
    settle = 0.5 if run.smoke else SETTLE_SECONDS
    for number, kind in run.turns(run.lives):
        with run.started(kind, f"tail-{number}", settings()) as server:
            loads = Disturbances(server, run)
            loads.fill()
            server.stop()
            forget_pages(store_of(server))
            server.start()
            loads.started_anew()
            run.warmed(WARMED, kind, _warm_up(server, run))
            time.sleep(settle)
            found = _measured(kind, server, loads.nothing(), UNDISTURBED, figures)
            if found.rate < 0.95 * RATE and not run.smoke:
                raise RuntimeError(f"{RATE} sends a second are too many here: {found.rate:.0f}")
            for name, prepare in DISTURBED.items():
                if not run.wants(name):
                    continue
                disturbance = prepare(loads)
                time.sleep(settle)
                _measured(kind, server, disturbance, name, figures)
            for name, value in loads.noted.items():
                figures.add(name, kind, value)
    ours = [kind for kind in run.kinds if kind != REAL]
    return (
        f"{RATE:,} sends a second of {SIZE} B over {CONNECTIONS} connections, each with one request under way; "
        "a latency counts from when the request was due. Log files of "
        f"{LOG_FILE >> 20} MiB. The cold backlog has {MESSAGES * BODY / 1e9:.1f} GB in bodies of {BODY >> 10} KiB and "
        "is read by four connections as fast as they can; the broker was started anew and the kernel asked to "
        "forget the store's pages. The offsets are those of 125,000 groups and 8 queues; 500 of them change every "
        "second. Each server is started anew for each round, and warmed by the same sends without their limit: at a "
        f"fixed rate every rate has settled.\n\n{figures.table()}\n\n{figures.warm_up_table()}\n\n"
        f"The target is at most {FACTOR} times the own undisturbed figure, or less than the real broker's under the "
        f"same disturbance.\n\n{verdicts(figures, ours)}"
    )


def _warm_up(server: Subject, run: Run) -> WarmUp:
    return loadgen.warmed(
        "send",
        server.broker_addr,
        run.pace,
        topic=TOPIC,
        queues=QUEUES,
        connections=CONNECTIONS,
        size=SIZE,
    )


def _measured(
    kind: str,
    server: Subject,
    disturbance: AbstractContextManager[Busy],
    name: str,
    figures: Figures,
) -> Measured:
    found = _sends_beside(server, disturbance)
    print(f"    {name}: {found.requests:,} sends in {found.seconds:.1f} s", flush=True)
    for percentile, value in zip(
        PERCENTILES, (found.p50_ms, found.p99_ms, found.p999_ms), strict=True
    ):
        figures.add(_row(percentile, name), kind, value)
    return found


def _sends_beside(server: Subject, disturbance: AbstractContextManager[Busy]) -> Measured:
    """Sends that are counted from the beginning of the disturbance to its end."""
    with loadgen.running(
        "send",
        server.broker_addr,
        topic=TOPIC,
        queues=QUEUES,
        connections=CONNECTIONS,
        size=SIZE,
        rate=RATE,
        warmup=WARM_UP,
        seconds=LIMIT_SECONDS,
    ) as sending:
        time.sleep(WARM_UP)
        with disturbance as busy:
            while sending.poll() is None and busy():
                time.sleep(0.1)
            return loadgen.finish(sending)


def _row(percentile: str, name: str) -> str:
    return f"{percentile}, ms, {name}"


def verdicts(figures: Figures, ours: list[str]) -> str:
    """A row for each figure under each disturbance."""
    heads = {OURS: "TriMQ", OTHER: "that tree"}
    columns = ["real, x undisturbed"]
    for kind in ours:
        name = heads.get(kind, "pure Python")
        columns += [f"{name}, x undisturbed", f"{name}: met?"]
    lines = [f"| figure | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name in DISTURBED:
        for percentile in PERCENTILES:
            row, usual = _row(percentile, name), _row(percentile, UNDISTURBED)
            real = figures.median(row, REAL)
            cells = [figure(_times(real, figures.median(usual, REAL)), ratio=True)]
            for kind in ours:
                found, own = figures.median(row, kind), figures.median(usual, kind)
                cells += [figure(_times(found, own), ratio=True), verdict(found, own, real)]
            lines.append(f"| {percentile}, {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _times(found: float | None, own: float | None) -> float | None:
    return found / own if found is not None and own else None


def verdict(found: float | None, own: float | None, real: float | None) -> str:
    """Whether a disturbed figure is good enough, and by which of the two measures."""
    times = _times(found, own)
    if found is None or times is None:
        return "not measured"
    if times <= FACTOR:
        return "yes"
    if real is not None and found < real:
        return f"yes, {found / real:.2f} of the real broker's"
    return "no"
