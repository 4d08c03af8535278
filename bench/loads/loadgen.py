"""Runs the load generator of bench/loadgen, compiled once per version of its sources."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.loads.settling import Pace, WarmUp, warm_up
from compat_tests.servers.artifacts import cache_root

_SOURCES: Final = Path(__file__).parents[1] / "loadgen"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run printed; times are milliseconds, `rate` is messages a second.

    `answered` counts the messages of the warm-up too, as the broker's CPU time does.
    """

    requests: int
    messages: int
    answered: int
    bytes: int
    seconds: float
    rate: float
    average_ms: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float

    @property
    def megabytes_a_second(self) -> float:
        return self.bytes / self.seconds / 1e6


def program() -> Path:
    """The compiled program; needs Go the first time."""
    digest = hashlib.sha256()
    for file in sorted(_SOURCES.iterdir()):
        digest.update(file.read_bytes())
    target = cache_root() / "loadgen" / digest.hexdigest()[:16]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", str(target), "."], cwd=_SOURCES, check=True)
    return target


def command(mode: str, addr: str, **flags: object) -> list[str]:
    words = [str(program()), mode, f"-addr={addr}"]
    # A truth value has to stand behind "=".
    return words + [f"-{name}={value}" for name, value in flags.items()]


def usual(topic: str) -> dict[str, object]:
    """Small messages to eight queues, by as many connections with 32 under way on each."""
    return {"topic": topic, "queues": 8, "connections": 8, "window": 32, "size": 128}


def run(mode: str, addr: str, **flags: object) -> Measured:
    """Run it to its end; RuntimeError with its own words when a reply was wrong."""
    done = subprocess.run(command(mode, addr, **flags), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"loadgen {mode} failed")
    return parse(done.stdout)


@contextmanager
def idle(addr: str, connections: int) -> Iterator[None]:
    """So many connections that do nothing, all there when the block begins."""
    words = command("idle", addr, connections=connections, seconds=3600)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            if "ready" not in child.stdout.readline():
                raise RuntimeError(f"loadgen did not get {connections} connections")
            yield
        finally:
            child.kill()


@contextmanager
def running(mode: str, addr: str, **flags: object) -> Iterator[subprocess.Popen[str]]:
    """In the background; killed at the end of the block, unless `result` or `finish` came before."""
    words = command(mode, addr, **flags)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def rates(mode: str, addr: str, every: float, **flags: object) -> Generator[float, None, None]:
    """Messages a second, one figure for each so many seconds; the load ends when the iterator is closed.

    RuntimeError with its own words when a reply was wrong.
    """
    with running(mode, addr, every=every, warmup=0, **flags) as process:
        assert process.stdout is not None
        for line in process.stdout:
            found: dict[str, Any] = json.loads(line)
            if len(found) > 1:
                return
            try:
                yield found["rate"]
            except GeneratorExit:
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate()
                if process.returncode:
                    raise RuntimeError(errors.strip() or f"loadgen {mode} failed") from None
                raise
        assert process.stderr is not None
        raise RuntimeError(process.stderr.read().strip() or f"loadgen {mode} failed")


def warmed(mode: str, addr: str, pace: Pace, **flags: object) -> WarmUp:
    """Load it until its rate has settled."""
    with closing(rates(mode, addr, pace.every, seconds=pace.limit + pace.every, **flags)) as found:
        return warm_up(found, pace)


def finish(process: subprocess.Popen[str]) -> Measured:
    """End it now, and what it has measured until then."""
    process.send_signal(signal.SIGINT)
    return result(process)


def result(process: subprocess.Popen[str]) -> Measured:
    """Wait for its end."""
    output, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(errors.strip() or f"loadgen ended with {process.returncode}")
    return parse(output)


def parse(output: str) -> Measured:
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return Measured(**found)
