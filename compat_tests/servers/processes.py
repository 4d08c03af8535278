"""Child processes with a log file, a ready line and no survivors; free ports; waiting with a limit."""

from __future__ import annotations

import atexit
import fcntl
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from tests.patience import PATIENCE

HOST = "127.0.0.1"
# A real broker that has nothing else to do stops in a second or two, and has taken 20 s beside others. One that is
# killed then has not written what it keeps in memory.
STOP_SECONDS: Final = 180.0
# Of the blocks of ports that this process has chosen.
_LOCKS: Final[list[BinaryIO]] = []


class NotReady(RuntimeError):
    """A server did not come up; the message ends with the tail of its log."""


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port p with p-2 (VIP listener) and p+1 (replication) free too, and nobody else's while this process lives.

    Tests run side by side, and a server binds its ports seconds after they were chosen: each block of four has a
    lock. Taken from below the ephemeral range, so that no outgoing connection can sit on it while the
    server is down for a restart.
    """
    for _ in range(200):
        first = random.randrange(20000, 32000, 4)
        if all(_is_free(port) for port in range(first, first + 4)) and _lock(first):
            return first + 2
    raise NotReady("no free port between 20000 and 32000")


def _lock(first: int) -> bool:
    """Until this process ends."""
    folder = Path(tempfile.gettempdir(), "trimq-test-ports")
    folder.mkdir(exist_ok=True)
    file = (folder / str(first)).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _LOCKS.append(file)
    return True


class Child:
    """One process with its output in a file."""

    def __init__(
        self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._from = log.stat().st_size if log.exists() else 0
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                list(command),
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=env,
            )
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """What this process wrote (not what an earlier one left in the same file)."""
        with self.log.open("rb") as source:
            source.seek(self._from)
            return source.read().decode(errors="replace")

    def wait_for(self, mark: str, timeout: float = PATIENCE) -> str:
        """The output's line that holds ``mark``."""
        began = time.monotonic()
        deadline = began + timeout
        while True:
            for line in self.output().splitlines():
                if mark in line:
                    return line
            if not self.running:
                raise NotReady(
                    f"process ended with {self._process.returncode}:\n{self.output()[-4000:]}"
                )
            if time.monotonic() > deadline:
                raise NotReady(f"no {mark!r} within {timeout} s:\n{self.output()[-4000:]}")
            # Some are up in less than a second, and that is measured.
            time.sleep(0.005 if time.monotonic() < began + 1 else 0.05)

    def stop(self, timeout: float = STOP_SECONDS) -> int:
        """SIGTERM and its exit code."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise NotReady(
                    f"no end {timeout} s after SIGTERM:\n{self.output()[-4000:]}"
                ) from None
        atexit.unregister(self.kill)
        return self._process.wait()

    def kill(self) -> None:
        """SIGKILL: the crash."""
        if self.running:
            self._process.kill()
        self._process.wait()
        atexit.unregister(self.kill)

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)
