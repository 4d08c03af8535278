"""Rows of official RocketMQ 5 clients behind a proxy (bench/java/ThroughProxy.java), and what servers spend on them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.loads import rows
from bench.loads.resident import Resident, Residents, residents
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.proxies import Proxies
from bench.servers.subjects import Subject, pids_of
from compat_tests.servers import artifacts


@dataclass(frozen=True)
class Stage:
    """`home` is where the clients' classes and files lie. `counts_all`: NameServer and proxy beside the broker."""

    run: Run
    proxies: Proxies
    home: Path
    counts_all: bool = False

    def cpu(self, name: str) -> str:
        """The row of processor time beside another row."""
        whose = "all servers" if self.counts_all else "the broker"
        return f"CPU of {whose}, us each of: {name}"

    def pids(self, kind: str, server: Subject) -> Sequence[int]:
        """Whose processor time is counted, behind a proxy."""
        if not self.counts_all:
            return [server.broker_pid]
        return [*pids_of(server), self.proxies.pid(kind)]


def through_proxy(
    stage: Stage, fleet: Fleet, name: str, words: list[str], consumed: str = "", late: str = ""
) -> None:
    """One row. `consumed`: the row of what is consumed meanwhile; `late`: that of the 99th percentile, in ms."""

    @contextmanager
    def proxied(kind: str, server: Subject) -> Iterator[str]:
        with stage.proxies.turn(kind, server) as endpoint:
            time.sleep(stage.run.ramp)
            yield endpoint

    def start(_: str, endpoint: str) -> Resident:
        return Resident("ThroughProxy", [endpoint, *words], stage.home, artifacts.CLIENT_GRPC)

    with residents(start, "rate") as clients:

        def warm(kind: str, server: Subject) -> WarmUp:
            with proxied(kind, server) as endpoint:
                return clients.warm(kind, endpoint, stage.run.pace)

        def turn(kind: str, server: Subject) -> dict[str, float]:
            with proxied(kind, server):
                found, cpu = counted(stage, clients, kind, stage.pids(kind, server))
            if not consumed:
                figures = {name: found["rate"], stage.cpu(name): cpu / found["count"] * 1e6}
                return {**figures, late: found["p99_ms"]} if late else figures
            if found["consumed"] < found["sent"]:
                raise RuntimeError(f"{found['consumed']} of {found['sent']} came ({kind})")
            return {
                name: found["rate"],
                consumed: found["consumed_rate"],
                stage.cpu(name): cpu / found["sent"] * 1e6,
            }

        rows.measure(stage.run, fleet, [Row(name, warm, turn)])


def counted(
    stage: Stage, clients: Residents, kind: str, pids: Sequence[int]
) -> tuple[dict[str, float], float]:
    """What a client found in one turn, and the processor time of these processes meanwhile, in seconds."""
    # All were stopped: what that cost is over then.
    clients.turn(kind, stage.run.ramp)
    before = _seconds(pids)
    found = clients.turn(kind, stage.run.seconds)
    cpu = _seconds(pids) - before
    if not found["rate"]:
        raise RuntimeError(f"nothing went through ({kind})")
    return found, cpu


def _seconds(pids: Sequence[int]) -> float:
    return sum(usage(pid).cpu_seconds for pid in pids)
