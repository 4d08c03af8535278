"""The first half minute after a start: what test suites and CI see, since nothing of them lasts until a JVM is warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from bench.loads import loadgen
from bench.loads.resident import Resident
from bench.run import Run
from bench.servers.subjects import Subject

TOPIC: Final = "Started"
QUEUES: Final = 8
PULLERS: Final = 4
# Seconds of a rate, and of which first seconds there is a figure.
EVERY: Final = 5
FIRST: Final = (5, 10, 30)
BACKLOG: Final = 1_024_000
LIMIT_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Beginning:
    """A load from the ready line on: rates of so many seconds each, without end."""

    name: str
    rates: Callable[[Subject, float, Path], Generator[float, None, None]]
    # Messages are there, but the broker has not been asked for any since its start.
    filled: bool = False


def measure(run: Run) -> str:
    """The table; every figure is of a server of its own, in its first seconds."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    for number, kind in run.turns(run.lives):
        for beginning in BEGINNINGS:
            if run.wants(beginning.name):
                with run.started(kind, f"started-{number}") as server:
                    found = _rates(run, server, beginning, java_home)
                for seconds, mean in first(found):
                    run.figures.add(f"{beginning.name}, first {seconds} s", kind, mean)
    return (
        "Messages a second in the first 5, 10 and 30 seconds behind the ready line. Each load has a server of its "
        "own, with an empty store; for pulls it was filled before, and the server started anew. The official client "
        f"is as new as its server; its rates begin when it has started itself.\n\n{run.figures.table()}"
    )


def _rates(run: Run, server: Subject, beginning: Beginning, java_home: Path) -> list[float]:
    every, count = (0.3, 1) if run.smoke else (EVERY, FIRST[-1] // EVERY)
    if beginning.filled:
        _fill(run, server)
        server.stop()
        server.start()
    rates = beginning.rates(server, every, java_home)
    with closing(rates):
        return list(islice(rates, count))


def first(rates: list[float]) -> Iterator[tuple[int, float]]:
    """Means over the first seconds of rates of `EVERY` seconds each; nothing for what there are too few of."""
    for seconds in FIRST:
        count = seconds // EVERY
        if len(rates) >= count:
            yield seconds, sum(rates[:count]) / count


def _fill(run: Run, server: Subject) -> None:
    loadgen.run(
        "send",
        server.broker_addr,
        topic=TOPIC,
        queues=PULLERS,
        connections=PULLERS,
        window=64,
        size=128,
        count=BACKLOG // (20 if run.smoke else 1),
    )
    # The real broker's consume queues follow a moment later.
    time.sleep(2)


def _sends(
    connections: int, window: int
) -> Callable[[Subject, float, Path], Generator[float, None, None]]:
    def rates(server: Subject, every: float, _: Path) -> Generator[float, None, None]:
        return loadgen.rates(
            "send",
            server.broker_addr,
            every,
            topic=TOPIC,
            queues=QUEUES,
            connections=connections,
            window=window,
            size=128,
            seconds=LIMIT_SECONDS,
        )

    return rates


def _pulls(server: Subject, every: float, _: Path) -> Generator[float, None, None]:
    return loadgen.rates(
        "pull",
        server.broker_addr,
        every,
        topic=TOPIC,
        queues=PULLERS,
        connections=PULLERS,
        batch=32,
        seconds=LIMIT_SECONDS,
    )


def _official(server: Subject, every: float, java_home: Path) -> Generator[float, None, None]:
    client = Resident("Latency", [server.namesrv_addr, TOPIC, "16", "128", "sync", "1"], java_home)
    try:
        while True:
            yield float(client.turn(every)["tps"])
    finally:
        client.close()


BEGINNINGS: Final = (
    Beginning("sends/s, one request at a time, 128 B", _sends(1, 1)),
    Beginning("sends/s, 8 connections x 32 under way, 128 B", _sends(8, 32)),
    Beginning("sends/s, official client (sync, 16 threads, 128 B)", _official),
    Beginning("msg/s, hot pulls of 32, 128 B", _pulls, filled=True),
)
