"""Runs the load generator of bench/loadgen, compiled once per version of its sources."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compat_tests.artifacts import cache_root

_SOURCES: Final = Path(__file__).parent / "loadgen"


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
    words = [str(program()), mode, "-addr", addr]
    for name, value in flags.items():
        words += [f"-{name}", str(value)]
    return words


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


def parse(output: str) -> Measured:
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return Measured(**found)
