"""Counts how often a process asks for its bytes to be on the disk, and how often the disk alone can do it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

CALLS: Final = ("fsync", "fdatasync", "msync")


def why_not() -> str:
    """Why the system calls cannot be counted here; empty when they can."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    words = _counting("--", "true")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stderr.strip().partition("\n")[0] if done.returncode else ""


def count(pid: int, seconds: float) -> int:
    """Calls of CALLS by all threads of the process, also new ones, within so many seconds.

    A tracepoint costs the process far less than strace, which would stop it at every system call.
    """
    words = _counting("-x", ",", "-p", str(pid), "--", "sleep", str(seconds))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return parse(done.stderr)


def parse(output: str) -> int:
    """The sum of perf's lines: `VALUE,UNIT,EVENT,...`."""
    counts = [line.split(",")[0] for line in output.splitlines() if "syscalls:" in line]
    if len(counts) != len(CALLS):
        raise ValueError(f"perf did not count what it was asked for: {output!r}")
    return sum(map(int, counts))


def _counting(*words: str) -> list[str]:
    events = ",".join(f"syscalls:sys_enter_{call}" for call in CALLS)
    return ["perf", "stat", "-e", events, *words]


def bare_rate(folder: Path, size: int, seconds: float) -> float:
    """How many times a second one thread appends so many bytes to a file and syncs it."""
    fd = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        # As in a commit log, whose files have their full length from the beginning.
        os.ftruncate(fd, 1 << 30)
        data = b"x" * size
        began = time.monotonic()
        done = 0
        while time.monotonic() - began < seconds:
            os.pwrite(fd, data, done * size)
            os.fdatasync(fd)
            done += 1
        return done / (time.monotonic() - began)
    finally:
        os.close(fd)
        (folder / "bare").unlink()
