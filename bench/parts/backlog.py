"""The official benchmark Consumer on a backlog, hot and cold, on both brokers.

A topic is filled with batches; hot, it is read as it lies in the page cache; cold, the broker is started
anew and the kernel is asked to forget the store's pages first. The Consumer prints averages over ten
seconds, so it is the later lines that count, and the backlog has to last longer than it runs. That is
too short for judging whether a broker is warm: before, a push consumer of our own reads over and over.
"""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path
from typing import Final

from bench.loads import programs
from bench.loads.filling import QUEUES, fill, forget_pages, wait_for_route
from bench.loads.resident import Resident, residents
from bench.loads.settling import WarmUp
from bench.run import Run
from bench.servers.subjects import Subject, store_of
from compat_tests.servers import artifacts

_TOPIC: Final = "BenchBacklog"
# What warms a broker whose backlog is to stay cold.
_WARMER: Final = "BenchWarmer"
_WARMER_MESSAGES: Final = 1_500_000
_MESSAGES: Final = 5_000_000
_SIZE: Final = 128
_CONSUMER_SECONDS: Final = 19
_CONSUMER: Final = "org.apache.rocketmq.example.benchmark.Consumer"
_LINE: Final = re.compile(r"Consume TPS: (\d+)")
_SOME: Final = re.compile(r"Consume TPS: [1-9]")
# The first line averages over the client's own start.
_WARM_UP_LINES: Final = 3
HOT: Final = "backlog hot, msg/s"
COLD: Final = "backlog cold, msg/s"
# A broker reads the last three files of its log when it starts: small ones, or nothing would be cold behind that.
SETTINGS: Final = {"mappedFileSizeCommitLog": str(64 << 20)}


def consume(namesrv: str, group: str, run: Run) -> float:
    """Messages a second that the official Consumer prints once it is warm; in a smoke run the first of all."""
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    words = [_CONSUMER, "-n", namesrv, "-t", _TOPIC, "-g", group, "-ri", "1000"]
    command = programs.java(path, run.folder, *words)
    if run.smoke:
        lines = programs.lines_for(command, programs.REPORT_SECONDS, last=_SOME)
        return _rates(lines)[-1]
    found = _rates(programs.lines_for(command, _CONSUMER_SECONDS), _WARM_UP_LINES)
    if found[-1] < found[0] / 2:
        raise RuntimeError(f"the backlog was too short: {found}")
    return statistics.median(found)


def _rates(lines: list[str], warm_up: int = 0) -> list[int]:
    """What the Consumer printed, but for its first lines."""
    found = [int(match[1]) for line in lines if (match := _LINE.search(line))][warm_up:]
    if not found:
        raise RuntimeError("the benchmark Consumer printed no rates:\n" + "\n".join(lines[-20:]))
    if not max(found):
        # A client that could not take up its queues looks again after 20 s.
        raise RuntimeError("the benchmark Consumer was given nothing:\n" + "\n".join(lines[:20]))
    return found


def measure(run: Run) -> str:
    """The table."""
    share = 20 if run.smoke else 1
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with run.fleet(SETTINGS) as fleet:
        fleet.start()
        for kind in fleet.kinds:
            with fleet.turn(kind) as server:
                fill(server.broker_addr, _TOPIC, _MESSAGES // share, _SIZE)
                fill(server.broker_addr, _WARMER, _WARMER_MESSAGES // share, _SIZE)
                wait_for_route(server.namesrv_addr, _WARMER)
                run.warmed(HOT, kind, _warm(run, kind, server, _TOPIC, java_home))
        for number, kind in run.turns(run.lives):
            with fleet.turn(kind) as server:
                run.figures.add(HOT, kind, consume(server.namesrv_addr, f"hot{number}", run))
        for number, kind in run.turns(run.lives):
            with fleet.turn(kind) as server:
                server.stop()
                forget_pages(store_of(server))
                server.start()
                wait_for_route(server.namesrv_addr, _WARMER)
                run.warmed(COLD, kind, _warm(run, kind, server, _WARMER, java_home))
                run.figures.add(COLD, kind, consume(server.namesrv_addr, f"cold{number}", run))
    return (
        f"{_MESSAGES:,} messages of {_SIZE} B in {QUEUES} queues, one group from the beginning, log files of 64 MiB. "
        "The broker was warmed by a push consumer that reads over and over; cold, it reads another topic.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}"
    )


def _warm(run: Run, kind: str, server: Subject, topic: str, java_home: Path) -> WarmUp:
    with residents(
        lambda _, namesrv: Resident(
            "Backlog", [namesrv, topic, f"warm_{topic}_{time.time_ns()}"], java_home
        ),
        "rate",
    ) as clients:
        return clients.warm(kind, server.namesrv_addr, run.pace)
