"""How an archive is tried: installed where nothing else is, it sends, receives, is killed, starts, and reads again."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

ROOT: Final = Path(__file__).resolve().parents[1]
MESSAGES: Final = Path(__file__).with_name("messages.py")
READY: Final = re.compile(r"TriMQ ready: namesrv=(?P<namesrv>\S+) broker=\S+ store=.+ in \d+ ms\n")
COUNT: Final = 500
_READY_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 60.0


class Failed(Exception):
    """One sentence: what was tried and what happened."""


@dataclass(frozen=True)
class Trial:
    """What was seen: what the archive says of itself, seconds from the command to the ready line, resident memory."""

    says: str
    install_seconds: float
    start_seconds: float
    memory_bytes: int


class Running(Protocol):
    """A server that is ready: a process, or a container."""

    # From the command to the ready line.
    seconds: float
    namesrv: str

    def memory(self) -> int:
        """Resident, in bytes; 0 where nobody says."""

    def stop(self) -> None:
        """SIGTERM. Failed."""

    def kill(self) -> None:
        """As kill -9 does it; also of one that is gone."""


def installed_by_pip(
    archive: Path,
    folder: Path,
    version: str,
    interpreter: Path = Path(sys.executable),
    build: str = "",
) -> Trial:
    """With the packages that requirements/runtime.txt names, by that Python. It has to say that build. Failed."""
    home = folder / "venv"
    began = time.monotonic()
    run([interpreter, "-m", "venv", home], folder)
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = ROOT / "requirements" / "runtime.txt"
    run([*pip, "--require-hashes", "-r", locked], folder)
    run([*pip, "--no-deps", archive], folder)
    seconds = time.monotonic() - began
    command = home / "bin" / "trimq"
    says = run([command, "--version"], folder).strip()
    if version not in says.split():
        raise Failed(f"trimq --version says {says!r}, not {version}")
    if build not in says:
        raise Failed(f"trimq --version says {says!r}, which is not {build}")
    start, memory = round_trips([str(command)], [str(python), "-P", str(MESSAGES)], folder)
    return Trial(says, seconds, start, memory)


def round_trips(trimq: Sequence[str], messages: Sequence[str], folder: Path) -> tuple[float, int]:
    """What `trimq` and `messages.py` are as commands; seconds to start, and bytes of memory after the first messages.

    Failed.
    """
    return there_and_back(partial(Server, trimq, folder), messages, folder)


def there_and_back(
    start: Callable[[], Running], messages: Sequence[str], folder: Path
) -> tuple[float, int]:
    """The same, of servers that `start` starts one after the other over one store. Failed."""
    first = start()
    try:
        sent = lines([*messages, first.namesrv, "send", "0", str(COUNT)], folder)
        _assert_same(
            sent, lines([*messages, first.namesrv, "read"], folder), "after they were sent"
        )
        memory = first.memory()
    finally:
        first.kill()
    second = start()
    try:
        read = lines([*messages, second.namesrv, "read"], folder)
        _assert_same(sent, read, "after kill -9")
        sent += lines([*messages, second.namesrv, "send", str(COUNT), "1"], folder)
        _assert_same(sent, lines([*messages, second.namesrv, "read"], folder), "after one more")
        second.stop()
    finally:
        second.kill()
    return first.seconds, memory


class Server:
    """`trimq server` on free ports, over the same store each time."""

    def __init__(self, trimq: Sequence[str], folder: Path) -> None:
        """It is ready. Failed."""
        words = ["server", "--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]
        began = time.monotonic()
        with (folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*trimq, *words, "--store", str(folder / "store")],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_plain(),
            )
        found = self._ready()
        self.seconds = time.monotonic() - began
        if found is None:
            self.kill()
            raise Failed(f"trimq server was not ready: {folder / 'server.log'} says why")
        self.namesrv = found["namesrv"]

    def _ready(self) -> re.Match[str] | None:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], _READY_SECONDS)[0]:
            return None
        return READY.fullmatch(stdout.readline().decode())

    def memory(self) -> int:
        """Resident, in bytes; 0 where nobody says."""
        return memory_of(self._process.pid)

    def stop(self) -> None:
        """SIGTERM. Failed."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"trimq server runs {_STOP_SECONDS:.0f} s after SIGTERM") from None
        if code:
            raise Failed(f"trimq server ended with {code} after SIGTERM")

    def kill(self) -> None:
        """As kill -9 does it; also of one that is gone."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def memory_of(pid: int) -> int:
    """Resident, in bytes; 0 where nobody says."""
    done = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return int(done.stdout.strip() or 0) * 1024


def _plain() -> dict[str, str]:
    """As a user has it: without what would lead to this checkout."""
    return {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "TRIMQ_"))
    }


def run(command: Sequence[object], folder: Path) -> str:
    """Standard output. Failed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=_plain(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        (folder / "failed.txt").write_text(done.stdout + done.stderr)
        raise Failed(
            f"{' '.join([Path(words[0]).name, *words[1:]])[:120]} ended with {done.returncode}:"
            f" {''.join(last)[:300]} ({folder / 'failed.txt'})"
        )
    return done.stdout


def lines(command: Sequence[str], folder: Path) -> list[str]:
    return run(command, folder).splitlines()


def _assert_same(sent: list[str], read: list[str], when: str) -> None:
    if read != sent:
        lost = len(set(sent) - set(read))
        raise Failed(
            f"{len(sent)} messages were sent; {when}, {len(read)} are read, {lost} are missing"
        )
