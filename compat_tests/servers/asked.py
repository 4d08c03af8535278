"""A program that is asked by its standard input, a line each time, and says how many bytes its answer has."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO


class AskedProgram:
    """Runs in a folder until it is closed; what it writes to standard error goes to a log there."""

    def __init__(self, command: Sequence[str], folder: Path, log: str, timeout: float) -> None:
        """`timeout`: of an answer, in seconds."""
        self._timeout = timeout
        self._log = (folder / log).open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, cwd=folder
        )

    def ask(self, words: Sequence[str], parts: int) -> list[bytes]:
        """The answer, which has so many parts; RuntimeError when the program has ended."""
        requests, answers = self._pipes()
        watchdog = threading.Timer(self._timeout, self._process.kill)
        watchdog.start()
        try:
            requests.write("\t".join(words).encode() + b"\n")
            requests.flush()
            head = answers.readline().split()
            if len(head) != parts + 1 or head[0] != b"=":
                raise RuntimeError(f"{self._process.args!r} ended at {words}: {head!r}")
            return [answers.read(int(size)) for size in head[1:]]
        finally:
            watchdog.cancel()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in self._pipes():
            pipe.close()
        self._log.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout
