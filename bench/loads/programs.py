"""RocketMQ's own benchmark programs: they never end by themselves, and print their rates."""

import re
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.loads.settling import Pace, WarmUp, warm_up
from compat_tests.servers import artifacts
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.remoting.clients.blocking import BlockingClient

_PACKAGE = "org.apache.rocketmq.example.benchmark"
_SEND_LINE = re.compile(r"Send TPS: (\d+) \| Max RT\(ms\): \d+ \| Average RT\(ms\):\s+([\d.]+)")
_SEND_FAILED = re.compile(r"Send Failed: (\d+) \| (?:Response|Send Message) Failed: (\d+)")
_BATCH_LINE = re.compile(r"Send MPS: (\d+) \| Max RT\(ms\): \d+ \| Average RT\(ms\):\s+([\d.]+)")
_REPORTS_MILLIS = "2000"
_HEAP = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC"]
# What a producer gives a topic that it creates.
_QUEUES = 4
# How long is waited for a report; the first comes after ten snapshots, a second each, and the JVM's own start.
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
class Program:
    """One of RocketMQ's programs, which sends until it is killed.

    `words` are its class and arguments but for the NameServer. `line` finds a report's rate and average latency,
    `failed` how many sends failed: of the whole run, or of the report alone. `grows` is the topic whose first
    `queues` queues get what it sends. `in_rounds`: what it asks of a broker comes in rounds, so averages are means over
    all reports, not medians.
    """

    words: tuple[str, ...]
    line: re.Pattern[str]
    failed: re.Pattern[str]
    grows: str
    queues: int = _QUEUES
    fails_are_totals: bool = True
    in_rounds: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program printed once it and its broker were warm, how they became so, and all that it printed.

    The first `before` lines are those of the warm-up.
    """

    rate: Rate
    warm_up: WarmUp
    lines: list[str]
    before: int


def producer(topic: str, load: Load) -> Program:
    """The official Producer, or BatchProducer."""
    words = ["-t", topic, "-w", str(load.threads), "-s", str(load.size), "-ri", _REPORTS_MILLIS]
    if load.batch > 1:
        words = ["BatchProducer", *words, "-b", str(load.batch)]
        return Program(tuple(words), _BATCH_LINE, _SEND_FAILED, topic)
    return Program(("Producer", *words), _SEND_LINE, _SEND_FAILED, topic)


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
    addresses: tuple[str, str], program: Program, seconds: float, home: Path, pace: Pace
) -> Ran:
    """Run it beside its broker (NameServer, broker); RuntimeError when it prints nothing, or sends fail.

    It prints averages over ten seconds, which is too long for judging whether rates have settled: these are
    what the queues have grown by.
    """
    namesrv, broker = addresses
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    name, *words = program.words
    command = java(path, home, f"{_PACKAGE}.{name}", "-n", namesrv, *words)
    output = home / "producer.out"
    with (
        output.open("wb") as sink,
        subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT) as process,
    ):
        try:
            found = warm_up(_growth(broker, program, pace.every), pace)
            before = len(output.read_text().splitlines())
            time.sleep(seconds)
            lines = _wait_for_line(output, program.line, before, process)
        finally:
            process.kill()
    return Ran(_rate(lines, before, program), found, lines, before)


def _growth(broker_addr: str, program: Program, every: float) -> Iterator[float]:
    """Messages a second that its queues get, one figure for each so many seconds."""
    with BlockingClient(broker_addr) as client:
        then, before = time.monotonic(), stored(client, program.grows, program.queues)
        while True:
            time.sleep(max(then + every - time.monotonic(), 0))
            now, found = time.monotonic(), stored(client, program.grows, program.queues)
            yield (found - before) / (now - then)
            then, before = now, found


def stored(client: BlockingClient, topic: str, queues: int) -> int:
    """How many messages its queues have; none while the topic is not there."""
    total = 0
    for queue_id in range(queues):
        header = GetMaxOffsetRequestHeader(topic=topic, queue_id=queue_id)
        answer = client.request(RequestCode.GET_MAX_OFFSET, header)
        if answer.code == ResponseCode.SUCCESS:
            total += int(answer.ext_fields["offset"])
    return total


def _wait_for_line(
    output: Path, pattern: re.Pattern[str], before: int, process: subprocess.Popen[bytes]
) -> list[str]:
    """All lines, at least one of them a report behind those that were there before."""
    deadline = time.monotonic() + REPORT_SECONDS
    while True:
        lines = output.read_text().splitlines()
        if any(pattern.search(line) for line in lines[before:]):
            return lines
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(
                "the benchmark Producer printed no rates:\n" + "\n".join(lines[-20:])
            )
        time.sleep(0.2)


def _rate(lines: list[str], before: int, program: Program) -> Rate:
    """The medians, or means, of what was printed behind the first lines."""
    counted = [match for line in lines[before:] if (match := program.line.search(line))]
    # While a JVM warms up on a busy machine sends time out; that is no part of the rate.
    failed = [program.failed.search(line) for line in lines]
    earlier = [match.groups() for match in failed[:before] if match]
    later = [match.groups() for match in failed[before:] if match]
    if program.fails_are_totals:
        wrong = bool(earlier and later and later[-1] != earlier[-1])
    else:
        counted_too = later if earlier else later[1:]
        wrong = any(int(count) for counts in counted_too for count in counts)
    if wrong:
        raise RuntimeError(f"sends failed: {later[-1]}")
    average = statistics.mean if program.in_rounds else statistics.median
    return Rate(
        average([float(match[1]) for match in counted]),
        average([float(match[2]) for match in counted]),
    )
