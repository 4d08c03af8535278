"""Programs of bench/java on the official client that stay for several turns, warm themselves as what they load."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.loads.programs import java
from bench.loads.settling import Pace, WarmUp, warm_up
from compat_tests.servers import artifacts

_SOURCES: Final = Path(__file__).parents[1] / "java"

STARTS: Final = 3
# What a turn may take beside its seconds: the JVM's start, a connection, the first messages.
LIMIT_SECONDS: Final = 60


class Resident:
    """One process: a line of its input is for how many seconds to work, its answer a line of JSON.

    It is stopped by the kernel between turns, as its server is.
    """

    def __init__(
        self, name: str, words: list[str], home: Path, client: str = artifacts.SERVER
    ) -> None:
        """`home` is a folder for classes, logs and whatever a client writes; `client` has its jars."""
        self._name = name
        lib = artifacts.classpath(artifacts.jars(client))
        # Open as long as the process.
        self._errors = tempfile.TemporaryFile("w+", dir=home)  # noqa: SIM115
        self._process = subprocess.Popen(
            java(f"{_compiled(name, home, lib)}:{lib}", home, name, *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def turn(self, seconds: float) -> dict[str, Any]:
        """What one turn found; RuntimeError with its own words when the program has ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        limit = threading.Timer(seconds + LIMIT_SECONDS, process.kill)
        limit.start()
        try:
            process.send_signal(signal.SIGCONT)
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
            # The client itself may print something before.
            line = next((line for line in process.stdout if line.startswith("{")), None)
        except BrokenPipeError:
            raise self._ended() from None
        finally:
            limit.cancel()
        if line is None:
            raise self._ended()
        process.send_signal(signal.SIGSTOP)
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self._process.kill()
        # Leaving the block waits for its end and closes the pipes.
        with self._errors, self._process:
            pass

    def _ended(self) -> RuntimeError:
        self._errors.seek(0)
        return RuntimeError(f"{self._name} ended:\n{self._errors.read()[-4000:]}")


def run_once(name: str, words: list[str], home: Path, seconds: float) -> dict[str, Any]:
    """The one line of JSON that a program prints which ends by itself; RuntimeError with its own words otherwise."""
    lib = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    command = java(f"{_compiled(name, home, lib)}:{lib}", home, name, *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    if line is None:
        raise RuntimeError(f"{name} ended:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(line)
    return found


def compiled(name: str, home: Path, client: str = artifacts.SERVER) -> Path:
    """The folder of its classes, for that client."""
    return _compiled(name, home, artifacts.classpath(artifacts.jars(client)))


def _compiled(name: str, home: Path, lib: str) -> Path:
    classes = home / "classes"
    if not (classes / f"{name}.class").exists():
        source = _SOURCES / f"{name}.java"
        subprocess.run(
            ["javac", "-nowarn", "-cp", lib, "-d", str(classes), str(source)], check=True
        )
    return classes


class Residents:
    """One client for each kind of server; it is started when that server is warmed."""

    def __init__(self, start: Callable[[str, str], Resident], rate: str) -> None:
        """`start` gets the kind and the NameServer's address; `rate` is the figure that has to settle."""
        self._start = start
        self._rate = rate
        self._clients: dict[str, Resident] = {}

    def warm(self, kind: str, namesrv_addr: str, pace: Pace) -> WarmUp:
        return warm_up(self._rates(kind, namesrv_addr, pace), pace)

    def _rates(self, kind: str, namesrv_addr: str, pace: Pace) -> Iterator[float]:
        yield self._first(kind, namesrv_addr, pace)
        while True:
            yield float(self._clients[kind].turn(pace.every)[self._rate])

    def _first(self, kind: str, namesrv_addr: str, pace: Pace) -> float:
        """A client gives up when its first request takes over 3 s, as on a busy machine: it starts anew then."""
        for remaining in reversed(range(STARTS)):
            client = self._clients[kind] = self._start(kind, namesrv_addr)
            try:
                return float(client.turn(pace.every)[self._rate])
            except RuntimeError:
                client.close()
                if not remaining:
                    raise
        raise AssertionError

    def turn(self, kind: str, seconds: float) -> dict[str, Any]:
        return self._clients[kind].turn(seconds)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@contextmanager
def residents(start: Callable[[str, str], Resident], rate: str) -> Iterator[Residents]:
    """They end with the block."""
    found = Residents(start, rate)
    try:
        yield found
    finally:
        found.close()
