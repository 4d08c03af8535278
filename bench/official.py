"""RocketMQ's own benchmark Producer and push consumer, and recorders on the official client."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from bench import clients
from bench.clients import Load
from bench.part import Run
from bench.process import usage
from bench.report import Figures
from bench.subjects import Subject, make

LOADS = [
    Load(16, 128),
    Load(64, 1024),
    Load(1, 128),
    Load(64, 128, asynchronous=True),
    Load(16, 128, batch=32),
]
# After the load a JVM still compiles and collects for a while.
SETTLE_SECONDS = 10
IDLE_SECONDS = 10
WARM_UP_SECONDS = 3


def measure(run: Run) -> str:
    """The table of all loads."""
    figures = Figures()
    java_home = run.folder / "java-home"
    java_home.mkdir()
    for number, kind in run.turns():
        home = run.folder / f"{kind}-{number}"
        server = make(kind, home)
        began = time.monotonic()
        server.start()
        figures.add("start-up, s", kind, time.monotonic() - began)
        try:
            _one(kind, server, run, figures, java_home)
        finally:
            server.stop()
            # The next one must not wait for this one's pages.
            shutil.rmtree(home, ignore_errors=True)
    return (
        "The official Producer's asynchronous mode has no bound and fails most of its sends, so that row is a "
        "recorder on the official client; so are the latencies and all CPU figures. Idle is measured when the load "
        f"has been over for {SETTLE_SECONDS} s.\n\n{figures.table()}"
    )


def _one(kind: str, server: Subject, run: Run, figures: Figures, java_home: Path) -> None:
    for load in LOADS[:1] if run.smoke else LOADS:
        _sends(kind, server, load, run, figures, java_home)
    first = LOADS[0]
    consumed = clients.consume(server.namesrv_addr, _topic(first), "bench_backlog", 60, java_home)
    figures.add("official push consumer on a backlog, msg/s", kind, consumed)
    time.sleep(1 if run.smoke else SETTLE_SECONDS)
    end = usage(server.broker_pid)
    idle = 1 if run.smoke else IDLE_SECONDS
    time.sleep(idle)
    spent = usage(server.broker_pid).cpu_seconds - end.cpu_seconds
    figures.add("idle after the load, % of a core", kind, spent / idle * 100)
    figures.add("RssAnon after the load, MiB", kind, end.anonymous_mib)
    figures.add("threads", kind, end.threads)


def _topic(load: Load) -> str:
    return f"Bench{load.threads}x{load.size}{'a' if load.asynchronous else ''}b{load.batch}"


def _sends(
    kind: str, server: Subject, load: Load, run: Run, figures: Figures, java_home: Path
) -> None:
    topic = _topic(load)
    if not load.asynchronous:
        rate = clients.produce(
            server.namesrv_addr, topic, load, run.seconds, java_home, smoke=run.smoke
        )
        figures.add(f"TPS, official Producer ({load})", kind, rate.tps)
    before = usage(server.broker_pid)
    measured = clients.latency(server.namesrv_addr, topic, load, run.seconds, java_home)
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    figures.add(f"TPS ({load})", kind, measured.tps)
    figures.add(f"average latency, ms ({load})", kind, measured.average_ms)
    figures.add(f"p99 latency, ms ({load})", kind, measured.p99_ms)
    # The recorder's warm-up sends at the same rate.
    sent = measured.tps * (run.seconds + WARM_UP_SECONDS)
    figures.add(f"broker CPU, us a message ({load})", kind, cpu / sent * 1e6)
