"""The official benchmark Producer and a push consumer, on the real broker and on TriMQ."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from bench.loads import programs
from bench.loads.programs import Load
from bench.loads.resident import Resident, residents
from bench.servers.subjects import REAL_DEFAULTS
from bench.store.figures import Section, Table
from bench.store.scale import Scale
from compat_tests.servers.jvm import JvmLauncher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options
from compat_tests.servers.versions import REFERENCE

REAL_HEAP: Final = ("-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g")
LOADS: Final = (Load(16, 128), Load(16, 1024), Load(16, 64 * 1024))


def run(folder: Path, scale: Scale) -> Section:
    found = {kind: _broker(kind, folder, scale) for kind in ("real", "trimq")}
    rows: list[list[float | str]] = []
    for number, load in enumerate(LOADS[: scale.real_loads]):
        real, ours = found["real"][number], found["trimq"][number]
        rows.append(
            [str(load), *real, *ours, f"{ours[0] / real[0]:.2f}", f"{ours[2] / real[2]:.2f}"]
        )
    return Section(
        "Through the official clients",
        [
            Table(
                f"Beside the real broker {REFERENCE}",
                "Counted when rates have settled: the official benchmark Producer, then a push consumer that reads "
                "what it sent; MB are "
                "those of the bodies. Clients, NameServer and broker share the cores, so this is not the "
                "store alone: it is what a user gets. The real broker ran with a heap of 2 GiB.",
                [
                    "load",
                    "real sent/s",
                    "real MB/s",
                    "real read/s",
                    "TriMQ sent/s",
                    "TriMQ MB/s",
                    "TriMQ read/s",
                    "sent, ratio",
                    "read, ratio",
                ],
                rows,
            )
        ],
    )


def _broker(kind: str, folder: Path, scale: Scale) -> list[tuple[float, float, float]]:
    """Messages and megabytes sent, messages read, each a second, for every load."""
    home = folder / kind
    java_home = folder / "java-home"
    (java_home / "classes").mkdir(parents=True, exist_ok=True)
    server = (
        RealServer(JvmLauncher(), home, Options(settings=dict(REAL_DEFAULTS)), heap=REAL_HEAP)
        if kind == "real"
        else TrimqServer(home, Options())
    )
    server.start()
    try:
        found: list[tuple[float, float, float]] = []
        for load in LOADS[: scale.real_loads]:
            topic = f"Store{load.size}"
            addresses = (server.namesrv_addr, server.broker_addr)
            program = programs.producer(topic, load)
            ran = programs.produce(addresses, program, scale.real_seconds, java_home, scale.pace)
            tps = ran.rate.tps
            read = _read(server.namesrv_addr, topic, java_home, scale)
            found.append((tps, tps * load.size / 1e6, read))
        return found
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _read(namesrv_addr: str, topic: str, java_home: Path, scale: Scale) -> float:
    """Messages a second of a push consumer that begins at the beginning, once that rate has settled."""

    def start(_: str, namesrv: str) -> Resident:
        return Resident("Backlog", [namesrv, topic, f"readers_{topic}"], java_home)

    with residents(start, "rate") as clients:
        clients.warm("", namesrv_addr, scale.pace)
        return float(clients.turn("", scale.real_seconds)["rate"])
