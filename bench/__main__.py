"""Both brokers alternately, in one run, on the same machine: ``python -m bench``.

Each round starts the real RocketMQ on an empty store, measures, stops it, then does the same with TriMQ.
What is compared is the ratio of medians: absolute figures depend on the machine. Nothing else should run.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import clients, report
from bench.clients import Load
from bench.process import usage
from compat_tests.ours import TrimqServer
from compat_tests.real import JvmLauncher, RealServer
from compat_tests.server import Options

LOADS = [Load(16, 128), Load(64, 1024), Load(1, 128), Load(64, 128, asynchronous=True)]
KINDS = ("real", "trimq")
# What RocketMQ's users are told to give a small broker; the tests' heap would cost it collections.
REAL_HEAP = ("-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g")
# After the load a JVM still compiles and collects for a while.
SETTLE_SECONDS = 10
Figures = dict[str, dict[str, list[float]]]


@contextmanager
def _started(kind: str, home: Path, figures: Figures) -> Iterator[RealServer | TrimqServer]:
    # RocketMQ's own delay levels and defaults: only the ports and folders differ.
    server = (
        RealServer(JvmLauncher(), home, heap=REAL_HEAP)
        if kind == "real"
        else TrimqServer(home, Options())
    )
    began = time.monotonic()
    server.start()
    figures["start-up, s"][kind].append(time.monotonic() - began)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _sends(
    server: RealServer | TrimqServer,
    load: Load,
    arguments: argparse.Namespace,
    figures: Figures,
    home: Path,
) -> None:
    kind, topic = server.kind, f"Bench{load.threads}x{load.size}{'a' if load.asynchronous else ''}"
    if not load.asynchronous:
        # The official program's asynchronous mode has no bound and fails most of its sends.
        rate = clients.produce(server.namesrv_addr, topic, load, arguments.seconds, home)
        figures[f"TPS, official Producer ({load})"][kind].append(rate.tps)
    before = usage(server.broker_pid)
    measured = clients.latency(server.namesrv_addr, topic, load, arguments.seconds, home)
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    figures[f"TPS ({load})"][kind].append(measured.tps)
    figures[f"average latency, ms ({load})"][kind].append(measured.average_ms)
    figures[f"p99 latency, ms ({load})"][kind].append(measured.p99_ms)
    # The recorder's warm-up sends at the same rate: 3 s more than were counted.
    sent = measured.tps * (arguments.seconds + 3)
    figures[f"CPU seconds per million messages ({load})"][kind].append(cpu / sent * 1e6)


def _round(kind: str, arguments: argparse.Namespace, figures: Figures, root: Path) -> None:
    home = root / kind
    java_home = root / "java-home"
    java_home.mkdir(exist_ok=True)
    with _started(kind, home, figures) as server:
        for load in LOADS[: arguments.loads]:
            print(f"  {kind}: {load}", flush=True)
            _sends(server, load, arguments, figures, java_home)
        first = LOADS[0]
        consumed = clients.consume(
            server.namesrv_addr,
            f"Bench{first.threads}x{first.size}",
            "bench_backlog",
            60,
            java_home,
        )
        figures["official push consumer on a backlog, msg/s"][kind].append(consumed)
        time.sleep(SETTLE_SECONDS)
        end = usage(server.broker_pid)
        time.sleep(arguments.idle)
        spent = usage(server.broker_pid).cpu_seconds - end.cpu_seconds
        figures["idle after the load, % of a core"][kind].append(spent / arguments.idle * 100)
        figures["RssAnon after the load, MiB"][kind].append(end.anonymous_mib)
        figures["threads"][kind].append(end.threads)


def medians(figures: Figures) -> dict[str, dict[str, float]]:
    """One figure a kind."""
    return {
        name: {kind: statistics.median(values) for kind, values in kinds.items()}
        for name, kinds in figures.items()
    }


def main() -> None:
    """Parse, run the rounds, print the table and write bench/RESULTS.md."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both brokers (3)")
    parser.add_argument("--seconds", type=int, default=10, help="seconds a load (10)")
    parser.add_argument("--idle", type=int, default=10, help="seconds of idling measured (10)")
    parser.add_argument("--loads", type=int, default=len(LOADS), help="only the first N loads")
    parser.add_argument("--results", type=Path, default=Path("bench/RESULTS.md"))
    parser.add_argument("--smoke", action="store_true", help="one short round; writes no results")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.rounds, arguments.seconds, arguments.idle, arguments.loads = 1, 6, 1, 1
    figures: Figures = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory(prefix="trimq-bench-") as folder:
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}", flush=True)
            # Whoever comes second finds a warmer machine: the order changes from round to round.
            for kind in KINDS if number % 2 == 0 else reversed(KINDS):
                _round(kind, arguments, figures, Path(folder))
    table = report.table(medians(figures))
    print(table)
    if not arguments.smoke:
        arguments.results.write_text(report.page(table, arguments))
        print(f"written to {arguments.results}")


if __name__ == "__main__":
    main()
