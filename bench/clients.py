"""The load: RocketMQ's own benchmark Producer, and two small recorders on the official client."""

import json
import re
import statistics
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compat_tests import artifacts

_PACKAGE = "org.apache.rocketmq.example.benchmark"
_SEND_LINE = re.compile(r"Send TPS: (\d+) \| Max RT\(ms\): \d+ \| Average RT\(ms\):\s+([\d.]+)")
_SEND_FAILED = re.compile(r"Send Failed: (\d+) \| (?:Response|Send Message) Failed: (\d+)")
_BATCH_LINE = re.compile(r"Send MPS: (\d+) \| Max RT\(ms\): \d+ \| Average RT\(ms\):\s+([\d.]+)")
_HEAP = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC"]
_WARM_UP_LINES = 2
# The Producer's first report comes after ten snapshots, a second each, and the JVM's own start.
_PRODUCER_START_SECONDS = 15
# How long a smoke run waits for a report; what it waits for comes after some 12 s.
REPORT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Load:
    """What one run sends: threads (or messages under way), bytes a body, sync or async, batches."""

    threads: int
    size: int
    asynchronous: bool = False
    batch: int = 1

    def __str__(self) -> str:
        kind = "async" if self.asynchronous else "sync"
        if self.batch > 1:
            kind = f"batches of {self.batch}"
        size = f"{self.size // 1024} KiB" if self.size >= 1024 else f"{self.size} B"
        return f"{kind}, {self.threads} threads, {size}"


@dataclass(frozen=True, slots=True)
class Rate:
    """Messages a second and the average latency that the official program printed."""

    tps: float
    average_ms: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles in milliseconds, and how many sends were counted."""

    sent: int
    tps: float
    average_ms: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    failed: int


def java(path: str, home: Path, *words: str) -> list[str]:
    # What it unpacks would outlive it elsewhere, when it is killed.
    folders = [f"-Duser.home={home}", f"-Djava.io.tmpdir={home}"]
    return ["java", *_HEAP, *folders, "-cp", path, *words]


def lines_for(command: list[str], seconds: float, last: re.Pattern[str] | None = None) -> list[str]:
    """The output of a program that never ends by itself, stopped after ``seconds`` or at the line ``last``."""
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        limit = threading.Timer(seconds, process.kill)
        limit.start()
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if last is not None and last.search(line):
                    break
        finally:
            limit.cancel()
            process.kill()
    return lines


def produce(
    namesrv: str, topic: str, load: Load, seconds: int, home: Path, smoke: bool = False
) -> Rate:
    """The official benchmark Producer: its report lines after warming up; in a smoke run its first."""
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    program = "BatchProducer" if load.batch > 1 else "Producer"
    words = [f"{_PACKAGE}.{program}", "-n", namesrv, "-t", topic, "-w", str(load.threads)]
    words += ["-s", str(load.size), "-ri", "2000"]
    words += ["-b", str(load.batch)] if load.batch > 1 else []
    pattern = _BATCH_LINE if load.batch > 1 else _SEND_LINE
    command = java(path, home, *words)
    if smoke:
        lines, warm_up = lines_for(command, REPORT_SECONDS, last=pattern), 0
    else:
        lines, warm_up = lines_for(command, _PRODUCER_START_SECONDS + seconds), _WARM_UP_LINES
    found = [match for line in lines if (match := pattern.search(line))]
    if len(found) <= warm_up:
        raise RuntimeError("the benchmark Producer printed no rates:\n" + "\n".join(lines[-20:]))
    # Totals. While a JVM warms up on a busy machine sends time out; that is no part of the rate.
    failed = [match.groups() for line in lines if (match := _SEND_FAILED.search(line))]
    if warm_up and failed[-1] != failed[warm_up - 1]:
        raise RuntimeError(f"sends failed: {failed[-1]}")
    counted = found[warm_up:]
    return Rate(
        statistics.median(float(match[1]) for match in counted),
        statistics.median(float(match[2]) for match in counted),
    )


def consume(namesrv: str, topic: str, group: str, seconds: int, home: Path) -> float:
    """Messages a second of the official push consumer on a backlog."""
    found = _own_program("Backlog", [namesrv, topic, group, str(seconds)], seconds, home)
    if not found["consumed"]:
        raise RuntimeError(f"nothing was consumed of {topic}")
    return float(found["rate"])


def latency(namesrv: str, topic: str, load: Load, seconds: int, home: Path) -> Latency:
    """Percentiles of sends with the official client."""
    words = [namesrv, topic, str(load.threads), str(load.size), "3", str(seconds)]
    words += ["async" if load.asynchronous else "sync", str(load.batch)]
    return Latency(**_own_program("Latency", words, seconds, home))


def _own_program(name: str, words: list[str], seconds: int, home: Path) -> dict[str, Any]:
    """Compile and run a program of bench/java; its last line of output is JSON."""
    lib = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    source = Path(__file__).parent / "java" / f"{name}.java"
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "-nowarn", "-cp", lib, "-d", classes, str(source)], check=True)
        done = subprocess.run(
            java(f"{classes}:{lib}", home, name, *words),
            capture_output=True,
            text=True,
            check=True,
            timeout=seconds + 60,
        )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
