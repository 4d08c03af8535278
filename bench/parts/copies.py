"""A master with a slave: how fast a slave catches up, and what it costs producers to wait for it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.loads import loadgen
from bench.loads.filling import fill
from bench.loads.settling import WarmUp
from bench.pages.figures import Figures, figure
from bench.run import Run
from bench.servers.process import settled_anonymous_mib, usage
from bench.servers.subjects import (
    COMPILED,
    OTHER,
    PURE,
    REAL,
    REAL_DEFAULTS,
    REAL_HEAP,
    ROOT,
    Subject,
)
from compat_tests.servers.jvm import JvmLauncher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from tests.patience import until
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.blocking import BlockingClient

TOPIC: Final = "BenchCopies"
NAME: Final = "bench-pair"
BACKLOG: Final = 2 * 1024**3
SIZES: Final = (1024, 128)
# Of a record besides its body: head, topic, a tag.
_REST: Final = 118
_LIMIT_SECONDS: Final = 600
_MASTER: Final = {"brokerName": NAME, "slaveTimeout": "10000"}
_SLAVE: Final = {"brokerName": NAME, "brokerRole": "SLAVE", "brokerId": "1"}
CATCH_UP: Final = "MB/s, a slave catches up with messages of {} B"
READABLE: Final = "{}, its queues too"
CATCH_UP_CPU: Final = "CPU of both, s a GiB, for that, {} B"
SYNC: Final = "SYNC_MASTER, inSyncReplicas=2"
ASYNC: Final = "ASYNC_MASTER with a slave, 8 connections x 32 under way, 128 B"
BOTH: Final = f"CPU of both, us a send, {ASYNC}"
MEMORY: Final = "RssAnon of the slave after that, MiB"

Slave = RealBroker | TrimqServer


def measure(run: Run) -> str:
    """The table, and which floors are met. Master and slave are of one kind, and share the machine's cores."""
    for kind in run.kinds:
        print(f"  {kind}", flush=True)
        _catching_up(run, kind)
        _waiting(run, kind)
        _beside(run, kind)
    backlog = f"{BACKLOG // 1024**3} GiB"
    return (
        "Master and slave on one machine, each pair by itself. Catching up: a slave that knows the log's beginning "
        f"was stopped, {backlog} of log came and is on the disk, and it is started; from when it is connected until "
        "its report is the log's end, and until its queues have all of that, too. Waiting: each producer has one "
        "request under way.\n\n"
        f"{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        + "\n".join(f"- {line}" for line in verdicts(run.figures))
    )


def verdicts(figures: Figures) -> list[str]:
    """The floor is the real broker's own figure: at least as many, and not later."""
    lines = []
    for name in figures.names:
        ratio = figures.ratio(name)
        if ratio is None or "CPU" in name or "RssAnon" in name:
            continue
        is_time = ", ms" in name
        met = ratio <= 1 if is_time else ratio >= 1
        lines.append(
            f"{name}: {figure(ratio)} of the real brokers', the floor of 1 is {'met' if met else 'missed'}."
        )
    return lines


@contextmanager
def _master(run: Run, kind: str, home: str, **settings: str) -> Iterator[Subject]:
    with run.started(kind, home, {**_MASTER, **settings}) as master:
        yield master


def _slave(run: Run, kind: str, home: str, namesrv: str) -> Slave:
    options = Options(settings=dict(_SLAVE))
    folder = run.folder / f"{home}-slave-{kind}"
    if kind == REAL:
        usual = Options(settings={**REAL_DEFAULTS, **_SLAVE})
        return RealBroker(JvmLauncher(), folder, namesrv, usual, heap=REAL_HEAP)
    tree = ROOT if kind == PURE else COMPILED
    if kind == OTHER and run.against is not None:
        tree = run.against.other
    return TrimqServer(folder, options, namesrv=namesrv, tree=tree)


def _status(client: BlockingClient) -> HARuntimeInfo:
    return decode_body(HARuntimeInfo, client.request(RequestCode.GET_BROKER_HA_STATUS).body)


def _links(client: BlockingClient) -> int:
    return len(_status(client).ha_connection_info)


def _is_even(client: BlockingClient) -> bool:
    links = _status(client).ha_connection_info
    return len(links) == 1 and links[0].slave_ack_offset > 0 and links[0].diff == 0


def _catching_up(run: Run, kind: str) -> None:
    for size in SIZES:
        name = CATCH_UP.format(size)
        if not run.wants(name):
            continue
        with _master(run, kind, f"catch-{size}") as master:
            slave = _slave(run, kind, f"catch-{size}", master.namesrv_addr)
            fill(master.broker_addr, TOPIC, 100, size)
            with BlockingClient(master.broker_addr, timeout=30) as client:
                slave.start()
                until(lambda: _is_even(client), "the slave has the beginning", _LIMIT_SECONDS)
                slave.stop()
                bytes_ = BACKLOG // (200 if run.smoke else 1)
                fill(master.broker_addr, TOPIC, bytes_ // (size + _REST) // 100 * 100, size)
                # What is on its way to the disk would slow down the one that was filled faster.
                os.sync()
                slave.start()
                lacked, copied, readable, cpu = _caught_up(client, master, slave)
                run.figures.add(name, kind, lacked / 1e6 / copied)
                run.figures.add(READABLE.format(name), kind, lacked / 1e6 / readable)
                run.figures.add(CATCH_UP_CPU.format(size), kind, cpu / lacked * 1024**3)
            slave.stop()


def _caught_up(
    client: BlockingClient, master: Subject, slave: Slave
) -> tuple[int, float, float, float]:
    """Bytes that it lacked when it was first seen connected; the seconds until it had said that it has all, and until
    its queues had all; both sides' seconds of processor time meanwhile."""
    began, first, before = 0.0, -1, 0.0
    end, copied = 0, 0.0
    pids = (master.broker_pid, _pid(slave))
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not copied:
        status = _status(client)
        now = time.monotonic()
        end = status.master_commit_log_max_offset
        for link in status.ha_connection_info:
            if first < 0 and link.slave_ack_offset > 0:
                began, first, before = now, link.slave_ack_offset, _cpu(pids)
            if first >= 0 and link.slave_ack_offset >= end:
                copied = max(now - began, 0.001)
        if now > deadline:
            raise RuntimeError("the slave did not catch up")
        time.sleep(0.005)
    with BlockingClient(_address(slave), timeout=30) as asked:
        until(lambda: _is_dispatched(asked), "its queues have all", _LIMIT_SECONDS)
    readable = max(time.monotonic() - began, copied)
    # In a smoke run there is so little that it may have all of it at the first look.
    return max(end - first, 1), copied, readable, _cpu(pids) - before


def _is_dispatched(client: BlockingClient) -> bool:
    found = json.loads(client.request(RequestCode.GET_BROKER_RUNTIME_INFO).body)
    return int(found["table"]["dispatchBehindBytes"]) == 0


def _cpu(pids: tuple[int, ...]) -> float:
    return sum(usage(pid).cpu_seconds for pid in pids)


def _waiting(run: Run, kind: str) -> None:
    """Sends that are answered when the slave has them."""
    settings = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
    wanted = [producers for producers in (1, 16) if run.wants(_waiting_name(producers))]
    if not wanted:
        return
    with _pair(run, kind, "sync", **settings) as master:
        for producers in wanted:
            words = {
                "topic": TOPIC,
                "queues": 8,
                "connections": producers,
                "window": 1,
                "size": 128,
            }
            what = _waiting_name(producers)
            run.figures.warmed(what, kind, _warm(run, master, words))
            found = loadgen.run(
                "send", master.broker_addr, seconds=run.seconds, warmup=run.ramp, **words
            )
            run.figures.add(f"sends/s, {what}", kind, found.rate)
            run.figures.add(f"p50, ms, {what}", kind, found.p50_ms)
            run.figures.add(f"p99, ms, {what}", kind, found.p99_ms)


def _waiting_name(producers: int) -> str:
    return f"{SYNC}, {producers} producer{'' if producers == 1 else 's'}"


def _warm(run: Run, master: Subject, words: dict[str, object]) -> WarmUp:
    return loadgen.warmed("send", master.broker_addr, run.pace, **words)


@contextmanager
def _pair(run: Run, kind: str, home: str, **settings: str) -> Iterator[Subject]:
    with _master(run, kind, home, **settings) as master:
        slave = _slave(run, kind, home, master.namesrv_addr)
        slave.start()
        try:
            with BlockingClient(master.broker_addr, timeout=30) as client:
                # A real one learns of its master with its next registration.
                until(lambda: _links(client) == 1, "the slave is there", _LIMIT_SECONDS)
            yield master
        finally:
            slave.stop()


def _beside(run: Run, kind: str) -> None:
    """What a slave takes from an ASYNC_MASTER on the same cores."""
    if not run.wants(ASYNC):
        return
    with _master(run, kind, "async") as master:
        slave = _slave(run, kind, "async", master.namesrv_addr)
        slave.start()
        try:
            words: dict[str, object] = {
                "topic": TOPIC,
                "queues": 8,
                "connections": 8,
                "window": 32,
                "size": 128,
            }
            run.figures.warmed(ASYNC, kind, _warm(run, master, words))
            pids = (master.broker_pid, _pid(slave))
            before = _cpu(pids)
            found = loadgen.run(
                "send", master.broker_addr, seconds=run.seconds, warmup=run.ramp, **words
            )
            with BlockingClient(master.broker_addr, timeout=30) as client:
                until(lambda: _is_even(client), "the slave has all", _LIMIT_SECONDS)
            spent = _cpu(pids) - before
            run.figures.add(f"sends/s, {ASYNC}", kind, found.rate)
            run.figures.add(f"p99, ms, {ASYNC}", kind, found.p99_ms)
            run.figures.add(BOTH, kind, spent / found.answered * 1e6)
            run.figures.add(MEMORY, kind, settled_anonymous_mib(_pid(slave)))
        finally:
            slave.stop()


def _pid(slave: Slave) -> int:
    return slave.pid if isinstance(slave, RealBroker) else slave.broker_pid


def _address(slave: Slave) -> str:
    return slave.addr if isinstance(slave, RealBroker) else slave.broker_addr
