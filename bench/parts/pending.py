"""A million timer messages that wait: the broker's own memory, CPU while none is due, and its start after kill -9."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from typing import Final

from bench.loads import loadgen
from bench.pages.figures import Figures
from bench.pages.verdicts import of_promise
from bench.run import Run
from bench.servers.process import settled_anonymous_mib, usage
from bench.servers.subjects import OURS, REAL, Subject
from compat_tests.servers.processes import HOST, free_port
from tests.patience import until
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "BenchPending"
COUNT: Final = 1_000_000
# None is due while this is measured.
FIRST_HOURS: Final = 6
SPREAD_HOURS: Final = 24
SETTLE_SECONDS: Final = 10
IDLE_SECONDS: Final = 20
LIMIT_SECONDS: Final = 600
_STEP: Final = "trimq_loop_longest_step_seconds"
_MILLIS_AN_HOUR: Final = 3_600_000
_MB_A_MIB: Final = (1 << 20) / 1e6

MEMORY: Final = "RssAnon with a million pending, MiB"
IDLE: Final = "idle with a million pending, % of a core"
READY: Final = "ready after kill -9 with a million pending, s"
AFTER: Final = "RssAnon after that, MiB"
STEP_FILLING: Final = "longest step of the loop while they come, ms"
STEP_IDLING: Final = "longest step of the loop while they wait, ms"
# What TriMQ promises.
LARGEST_MB: Final = 100
IDLE_SHARE: Final = 1
READY_SECONDS: Final = 1
STEP_MILLIS: Final = 5


def measure(run: Run) -> str:
    """The table, and whether TriMQ keeps what it promises."""
    return measured(
        run,
        _fill,
        f"{COUNT:,} timer messages of 128 B come from loadgen, due between {FIRST_HOURS} and "
        f"{FIRST_HOURS + SPREAD_HOURS} hours later at any second",
    )


def measured(run: Run, fill: Callable[[Run, Subject], None], filled: str) -> str:
    """The same for anything that waits on the wheel: `fill` makes it, `filled` says what it is."""
    for kind in run.kinds:
        print(f"  {kind}", flush=True)
        port = free_port()
        settings = {} if kind == REAL else {"metricsListen": f"{HOST}:{port}"}
        metrics = f"http://{HOST}:{port}/metrics" if settings else None
        with run.started(kind, "pending", settings) as server:
            # What the start took is no part of it.
            _step(metrics)
            fill(run, server)
            _settle(run, server)
            _steps(run, STEP_FILLING, kind, metrics)
            _look(run, kind, server)
            _steps(run, STEP_IDLING, kind, metrics)
            _kill(run, kind, server)
    verdicts = "\n".join(f"- {line}" for line in judged(run.figures))
    return (
        f"{filled}; the broker is looked at {SETTLE_SECONDS} s after "
        f"the last of them is on the wheel, and idles for {IDLE_SECONDS} s. Ready: from the start of the process to "
        "its ready line; the real server's NameServer and broker are started one after the other.\n\n"
        f"{run.figures.table()}\n\nTriMQ:\n\n{verdicts}"
    )


def _fill(run: Run, server: Subject) -> None:
    loadgen.run(
        "send",
        server.broker_addr,
        **loadgen.usual(TOPIC),
        count=COUNT // (100 if run.smoke else 1),
        due=time.time_ns() // 1_000_000 + FIRST_HOURS * _MILLIS_AN_HOUR,
        within=SPREAD_HOURS * _MILLIS_AN_HOUR,
    )


def _settle(run: Run, server: Subject) -> None:
    with BlockingClient(server.broker_addr) as client:
        until(lambda: _behind(client) == 0, "all are on the wheel", LIMIT_SECONDS)
    time.sleep(0.1 if run.smoke else SETTLE_SECONDS)


def _behind(client: BlockingClient) -> int:
    """How many are stored, but not on the wheel yet; -1 of the real broker while it starts."""
    answer = client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
    if not answer.body:
        return -1
    return int(decode_body(KVTable, answer.body).table["timerOffsetBehind"])


def _look(run: Run, kind: str, server: Subject) -> None:
    run.figures.add(MEMORY, kind, settled_anonymous_mib(server.broker_pid))
    before = usage(server.broker_pid)
    idle = 1 if run.smoke else IDLE_SECONDS
    time.sleep(idle)
    spent = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    run.figures.add(IDLE, kind, spent / idle * 100)


def _steps(run: Run, name: str, kind: str, metrics: str | None) -> None:
    step = _step(metrics)
    if step is not None:
        run.figures.add(name, kind, step * 1000)


def _step(metrics: str | None) -> float | None:
    """Seconds of the longest since this was asked last; None of a server without that figure."""
    return None if metrics is None else longest_step_at(metrics)


def longest_step_at(metrics: str) -> float:
    """Seconds of the longest since this was asked last, by the address of /metrics."""
    with urllib.request.urlopen(metrics, timeout=10) as answer:
        return longest_step(answer.read().decode())


def longest_step(text: str) -> float:
    """Seconds, from the text of /metrics."""
    for line in text.splitlines():
        if line.startswith(_STEP):
            return float(line.rpartition(" ")[2])
    raise RuntimeError(f"/metrics has no {_STEP}")


def _kill(run: Run, kind: str, server: Subject) -> None:
    server.kill()
    began = time.monotonic()
    server.start()
    run.figures.add(READY, kind, time.monotonic() - began)
    with BlockingClient(server.broker_addr) as client:
        until(lambda: _behind(client) == 0, "all are on the wheel again", LIMIT_SECONDS)
    time.sleep(0.1 if run.smoke else SETTLE_SECONDS)
    run.figures.add(AFTER, kind, settled_anonymous_mib(server.broker_pid))


def judged(figures: Figures, kind: str = OURS) -> list[str]:
    """Every promise, what was found and whether it is kept."""
    memory = figures.median(MEMORY, kind)
    return [
        of_promise("RssAnon", None if memory is None else memory * _MB_A_MIB, LARGEST_MB, "MB"),
        of_promise("idle", figures.median(IDLE, kind), IDLE_SHARE, "% of a core"),
        of_promise("ready after kill -9", figures.median(READY, kind), READY_SECONDS, "s"),
        *(
            of_promise(name.removesuffix(", ms"), figures.median(name, kind), STEP_MILLIS, "ms")
            for name in (STEP_FILLING, STEP_IDLING)
        ),
    ]
