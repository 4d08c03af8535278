"""Timer messages: sends by RocketMQ's own timer producer, and how late 100,000 come that are due almost at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.loads import programs
from bench.loads.programs import Program
from bench.loads.resident import run_once
from bench.pages import verdicts
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.subjects import Subject
from trimq.codec.names import TIMER_TOPIC
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "BenchTimers"
THREADS: Final = 16
SIZE: Final = 128
# The first are due two minutes after the program's start: hardly any while it is measured, with so many times of
# delivery half a minute apart.
TIMES: Final = 5000
APART_MILLIS: Final = 30_000
EACH: Final = 100
_LINE: Final = re.compile(r"Send TPS: (\d+), Max RT: \d+, Average RT:\s*([\d.]+)")
_FAILED: Final = re.compile(r"Send Failed: (\d+), Response Failed: (\d+)")
_LOAD: Final = f"{THREADS} threads, {SIZE} B"

RATE: Final = f"timer sends/s ({_LOAD})"
LATENCY: Final = f"average latency of a timer send, ms ({_LOAD})"
CPU: Final = f"CPU of the broker, us a timer send ({_LOAD})"
COUNT: Final = 100_000
# What is wanted of those that are due over a minute.
P99_MILLIS: Final = 1500


@dataclass(frozen=True, slots=True)
class Crowd:
    """Messages that are due within `span_millis`, which begin so long after the first of them was sent."""

    name: str
    span_millis: int
    lead_millis: int

    def figure(self, what: str) -> str:
        return f"{what} after the asked time, ms, {COUNT:,} due {self.name}"


MINUTE: Final = Crowd("over a minute", 60_000, 40_000)
SECOND: Final = Crowd("in one second", 1000, 40_000)
P99: Final = "p99"
LAST: Final = "the last"
FIRST: Final = "the earliest"
STORED: Final = "p99 to the broker's own write"


def program() -> Program:
    words = ["timer.TimerProducer", "-t", TOPIC, "-tc", str(THREADS), "-ms", str(SIZE)]
    words += ["-st", str(TIMES), "-sd", str(APART_MILLIS), "-mt", str(EACH)]
    return Program(tuple(words), _LINE, _FAILED, TIMER_TOPIC, 1)


def measure(run: Run) -> str:
    """The table, and whether TriMQ is as fast, and no later."""
    java_home = run.folder / "java-home"
    (java_home / "classes").mkdir(parents=True)
    with run.fleet() as fleet:
        fleet.start()
        if run.wants(RATE):
            for _, kind in run.turns(run.lives):
                with fleet.turn(kind) as server:
                    _sends(run, kind, server, java_home)
    for crowd in (SECOND,) if run.smoke else (MINUTE, SECOND):
        if run.wants(crowd.figure(P99)):
            # Nothing else may be due.
            with run.fleet() as fleet:
                fleet.start()
                _crowd(run, fleet, crowd, java_home)
    figures = run.figures
    said = [
        verdicts.of_rates(figures, [RATE]),
        verdicts.of_lateness(figures, MINUTE.figure(P99), P99_MILLIS),
        verdicts.of_lateness(figures, SECOND.figure(LAST)),
    ]
    return (
        "The official timer producer is started anew for each round and prints averages over ten seconds: these count "
        f"once the wheel's queue has grown at a settled rate. It asks for {TIMES:,} times, {APART_MILLIS // 1000} s "
        f"apart, of which hardly any comes meanwhile. Lateness is of {COUNT:,} messages of {SIZE} B that one official "
        "client sends and another one gets, from the asked time on; slots have a second, and a slot is due when its "
        "second is over. Lateness to the broker's own write leaves the clients out.\n\n"
        f"{figures.table()}\n\n{figures.warm_up_table()}\n\n"
        + "\n".join(line for line in said if line)
    )


def _sends(run: Run, kind: str, server: Subject, java_home: Path) -> None:
    with BlockingClient(server.broker_addr) as client:
        began, before = usage(server.broker_pid), programs.stored(client, TIMER_TOPIC, 1)
        addresses = (server.namesrv_addr, server.broker_addr)
        ran = programs.produce(addresses, program(), run.seconds, java_home, run.pace)
        sent = programs.stored(client, TIMER_TOPIC, 1) - before
        spent = usage(server.broker_pid).cpu_seconds - began.cpu_seconds
    run.warmed(RATE, kind, ran.warm_up)
    run.figures.add(RATE, kind, ran.rate.tps)
    run.figures.add(LATENCY, kind, ran.rate.average_ms)
    run.figures.add(CPU, kind, spent / sent * 1e6)


def _crowd(run: Run, fleet: Fleet, crowd: Crowd, java_home: Path) -> None:
    count = COUNT // (200 if run.smoke else 1)
    span = crowd.span_millis // (20 if run.smoke else 1)
    lead = 5000 if run.smoke else crowd.lead_millis
    for number, kind in run.turns(run.lives):
        with fleet.turn(kind) as server:
            topic = f"{TOPIC}{crowd.span_millis}-{number}"
            words = [server.namesrv_addr, topic, str(count), str(span), str(lead)]
            found = run_once("Due", words, java_home, (lead + span) / 1000 + 400)
        for name, value in lateness(found, in_time=not run.smoke).items():
            run.figures.add(crowd.figure(name), kind, value)


def lateness(found: dict[str, Any], *, in_time: bool = True) -> dict[str, float]:
    """What the program saw; RuntimeError when that is not all, or (`in_time`) when sends took until some were due."""
    if found["failed"] or found["missing"]:
        raise RuntimeError(f"{found['failed']} sends failed, {found['missing']} never came")
    if in_time and found["sent_before_ms"] < 0:
        raise RuntimeError(
            f"the last was sent {-found['sent_before_ms']} ms after the first was due"
        )
    received, stored = found["received"], found["stored"]
    return {
        P99: received["p99_ms"],
        LAST: received["last_ms"],
        FIRST: received["earliest_ms"],
        STORED: stored["p99_ms"],
    }
