"""Request-reply with the official client: round trips a second, and how long they take."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.loads import rows
from bench.loads.resident import Resident, residents
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages import verdicts
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.subjects import Subject

SIZE: Final = 128
# Threads that ask, each for one answer at a time.
ASKING: Final = (1, 16)


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    asking = ASKING[-1:] if run.smoke else ASKING
    with run.fleet() as fleet:
        fleet.start()
        for threads in asking:
            _trips(run, fleet, threads, java_home)
    return (
        f"Requests of {SIZE} B by the official client's request(), answered by a push consumer of the same process "
        "with as many bytes. A round trip is two sends, a pull and a push of the broker; it counts from the request "
        f"to the answer.\n\n{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [rate(threads) for threads in asking])}"
    )


def rate(threads: int) -> str:
    return f"round trips/s, {threads} threads"


def _trips(run: Run, fleet: Fleet, threads: int, java_home: Path) -> None:
    words = [f"BenchReplies{threads}", str(threads), str(SIZE)]

    def warm(kind: str, server: Subject) -> WarmUp:
        return clients.warm(kind, server.namesrv_addr, run.pace)

    def turn(kind: str, server: Subject) -> dict[str, float]:
        # Both were stopped: what that cost is over then.
        clients.turn(kind, run.ramp)
        before = usage(server.broker_pid)
        found = clients.turn(kind, run.seconds)
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        if found["failed"] or not found["asked"]:
            raise RuntimeError(f"{found['failed']} of {found['asked']} were not answered ({kind})")
        return {
            rate(threads): found["rate"],
            f"p50 of a round trip, ms, {threads} threads": found["p50_ms"],
            f"p99 of a round trip, ms, {threads} threads": found["p99_ms"],
            f"CPU of the broker, us a round trip, {threads} threads": cpu / found["asked"] * 1e6,
        }

    with residents(
        lambda _, namesrv: Resident("RequestReply", [namesrv, *words], java_home), "rate"
    ) as clients:
        rows.measure(run, fleet, [Row(rate(threads), warm, turn)])
