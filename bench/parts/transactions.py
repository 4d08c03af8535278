"""Transactions: RocketMQ's own TransactionProducer, a tenth rolled back and a tenth unknown until asked."""

from __future__ import annotations

import re
import time
from typing import Final

from bench.loads import programs
from bench.loads.programs import Program, Ran
from bench.pages import verdicts
from bench.run import Run
from bench.servers.process import usage
from bench.servers.subjects import Subject
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "BenchTransactions"
THREADS: Final = 16
SIZE: Final = 128
# The program draws twice: what is not rolled back may be unknown.
ROLLED_BACK: Final = 0.1
UNKNOWN: Final = 0.1 / (1 - ROLLED_BACK)
# Two rounds of checks (transactionCheckInterval), whose work would fall into one server's time and not into another's.
ROUNDS_SECONDS: Final = 60
_LINE: Final = re.compile(r"Send TPS:\s*(\d+) \| Max RT\(ms\):\s*\d+ \| AVG RT\(ms\):\s*([\d.]+)")
_FAILED: Final = re.compile(r"Send Failed: (\d+)")
_CHECKS: Final = re.compile(r"\| Check: (\d+) \| UnexpectedCheck: (\d+)")
_LOAD: Final = f"{THREADS} threads, {SIZE} B"

RATE: Final = f"transactions/s ({_LOAD})"
LATENCY: Final = f"average latency of a transaction, ms ({_LOAD})"
CPU: Final = f"CPU of the broker, us a half ({_LOAD})"
CHECKS: Final = "checks of unknown ones, in the measured time"
UNEXPECTED: Final = "checks of what was decided, in all"


def program() -> Program:
    """Unknown ones are committed when the broker asks."""
    words = ["TransactionProducer", "-t", TOPIC, "-w", str(THREADS), "-s", str(SIZE)]
    words += ["-sr", f"{ROLLED_BACK:.4f}", "-su", f"{UNKNOWN:.4f}"]
    return Program(tuple(words), _LINE, _FAILED, TRANS_HALF_TOPIC, 1, False, in_rounds=True)


def measure(run: Run) -> str:
    """The table, and whether TriMQ is at least as fast."""
    (run.folder / "java-home").mkdir()
    with run.fleet() as fleet:
        fleet.start()
        for _, kind in run.turns(run.lives):
            with fleet.turn(kind) as server:
                _turn(run, kind, server)
    return (
        "The official TransactionProducer is started anew for each round and prints averages over ten seconds: these "
        "count once the queue of halves has grown at a settled rate, and the figure is their mean over two rounds of "
        "checks. A tenth is rolled back, a tenth is left unknown and committed when the broker asks, after 6 s at the "
        "next round of every 30 s. A half that is put back for a check counts as one more.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{verdicts.of_rates(run.figures, [RATE])}"
    )


def _turn(run: Run, kind: str, server: Subject) -> None:
    with BlockingClient(server.broker_addr) as client:
        began, before = usage(server.broker_pid), programs.stored(client, TRANS_HALF_TOPIC, 1)
        addresses = (server.namesrv_addr, server.broker_addr)
        seconds = run.seconds if run.smoke else max(run.seconds, ROUNDS_SECONDS)
        ran = programs.produce(addresses, program(), seconds, run.folder / "java-home", run.pace)
        # Ends that were sent last have come.
        time.sleep(run.ramp)
        halves = programs.stored(client, TRANS_HALF_TOPIC, 1) - before
        spent = usage(server.broker_pid).cpu_seconds - began.cpu_seconds
    run.warmed(RATE, kind, ran.warm_up)
    run.figures.add(RATE, kind, ran.rate.tps)
    run.figures.add(LATENCY, kind, ran.rate.average_ms)
    run.figures.add(CPU, kind, spent / halves * 1e6)
    for name, value in checks(ran).items():
        run.figures.add(name, kind, value)


def checks(ran: Ran) -> dict[str, float]:
    """Of the reports that count, and of all of them what should not have been asked."""
    found = [_CHECKS.search(line) for line in ran.lines]
    return {
        CHECKS: float(sum(int(match[1]) for match in found[ran.before :] if match)),
        UNEXPECTED: float(sum(int(match[2]) for match in found if match)),
    }
