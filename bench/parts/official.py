"""RocketMQ's own benchmark Producer and push consumer, and recorders on the official client."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from bench.loads import programs, rows
from bench.loads.filling import fill, wait_for_route
from bench.loads.programs import Load
from bench.loads.resident import Resident, Residents, residents
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.subjects import Subject

LOADS: Final = (
    Load(16, 128),
    Load(64, 1024),
    Load(1, 128),
    Load(64, 128, asynchronous=True),
    Load(16, 128, batch=32),
)
# A turn of five seconds reads a part of it.
BACKLOG: Final = 1_500_000
BACKLOG_TOPIC: Final = "BenchBacklog"
CONSUMER: Final = "official push consumer on a backlog, msg/s"
IDLE: Final = "idle after the load, % of a core"
# After the load a JVM still compiles and collects for a while.
SETTLE_SECONDS: Final = 10
IDLE_SECONDS: Final = 10


def measure(run: Run) -> str:
    """The table of all loads."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with run.fleet() as fleet:
        for kind, seconds in fleet.start().items():
            run.figures.add("start-up, s", kind, seconds)
        for load in LOADS[:1] if run.smoke else LOADS:
            if not load.asynchronous:
                _producer(run, fleet, load, java_home)
            _recorder(run, fleet, load, java_home)
        _consumer(run, fleet, java_home)
        if run.wants(IDLE):
            _idle(run, fleet)
    return (
        "The official Producer's asynchronous mode has no bound and fails most of its sends, so that row is a "
        "recorder on the official client; so are the latencies and all CPU figures. The Producer is started anew "
        "for each round and prints averages over ten seconds: these count once the broker's queues have grown at a "
        "settled rate. Idle is measured when the load has been over "
        f"for {SETTLE_SECONDS} s. Start-up is that of one start.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}"
    )


def _topic(load: Load) -> str:
    return f"Bench{load.threads}x{load.size}{'a' if load.asynchronous else ''}b{load.batch}"


def _producer(run: Run, fleet: Fleet, load: Load, java_home: Path) -> None:
    """Each round is a new process, which warms up with the broker's queues as the witness."""
    name = f"TPS, official Producer ({load})"
    if not run.wants(name):
        return
    for _, kind in run.turns(run.lives):
        with fleet.turn(kind) as server:
            ran = programs.produce(
                (server.namesrv_addr, server.broker_addr),
                programs.producer(_topic(load), load),
                run.seconds,
                java_home,
                run.pace,
            )
        run.warmed(name, kind, ran.warm_up)
        run.figures.add(name, kind, ran.rate.tps)


def _recorder(run: Run, fleet: Fleet, load: Load, java_home: Path) -> None:
    words = [_topic(load), str(load.threads), str(load.size)]
    words += ["async" if load.asynchronous else "sync", str(load.batch)]

    def turn(kind: str, server: Subject) -> dict[str, float]:
        # Both were stopped: what that cost is over then, a connection perhaps.
        clients.turn(kind, run.ramp)
        before = usage(server.broker_pid)
        found = clients.turn(kind, run.seconds)
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        if found["failed"]:
            raise RuntimeError(f"{found['failed']} sends failed ({load}, {kind})")
        return {
            f"TPS ({load})": found["tps"],
            f"average latency, ms ({load})": found["average_ms"],
            f"p99 latency, ms ({load})": found["p99_ms"],
            f"broker CPU, us a message ({load})": cpu / found["sent"] * 1e6,
        }

    with _clients("Latency", words, java_home, "tps") as clients:
        rows.measure(run, fleet, [Row(f"TPS ({load})", _warming(run, clients), turn)])


def _consumer(run: Run, fleet: Fleet, java_home: Path) -> None:
    def warm(kind: str, server: Subject) -> WarmUp:
        fill(server.broker_addr, BACKLOG_TOPIC, BACKLOG // (20 if run.smoke else 1), 128)
        wait_for_route(server.namesrv_addr, BACKLOG_TOPIC)
        return clients.warm(kind, server.namesrv_addr, run.pace)

    def turn(kind: str, _: Subject) -> dict[str, float]:
        found = clients.turn(kind, run.seconds)
        if not found["consumed"]:
            raise RuntimeError(f"nothing was consumed of {BACKLOG_TOPIC} ({kind})")
        return {CONSUMER: found["rate"]}

    with _clients("Backlog", [BACKLOG_TOPIC, "bench_backlog"], java_home, "rate") as clients:
        rows.measure(run, fleet, [Row(CONSUMER, warm, turn)])


def _clients(
    program: str, words: Sequence[str], java_home: Path, rate: str
) -> AbstractContextManager[Residents]:
    return residents(lambda _, namesrv: Resident(program, [namesrv, *words], java_home), rate)


def _warming(run: Run, clients: Residents) -> Callable[[str, Subject], WarmUp]:
    return lambda kind, server: clients.warm(kind, server.namesrv_addr, run.pace)


def _idle(run: Run, fleet: Fleet) -> None:
    seconds = 1 if run.smoke else IDLE_SECONDS
    for kind in fleet.kinds:
        with fleet.turn(kind) as server:
            time.sleep(1 if run.smoke else SETTLE_SECONDS)
            end = usage(server.broker_pid)
            time.sleep(seconds)
            spent = usage(server.broker_pid).cpu_seconds - end.cpu_seconds
        run.figures.add(IDLE, kind, spent / seconds * 100)
        run.figures.add("RssAnon after the load, MiB", kind, end.anonymous_mib)
        run.figures.add("threads", kind, end.threads)
