"""A server in the hand of a Python test: a process of its own, so that it can be killed."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from trimq.hand.operation import HandError

log = logging.getLogger("trimq")

_READY: Final = re.compile(
    r"TriMQ ready: namesrv=(\S+) broker=(\S+) store=.+ hand=(\S+)(?: grpc=(\S+))? in \d+ ms"
)
# Of a line in the log: when and how bad.
_LEVEL: Final = re.compile(r"^\S+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) ")
_LEVELS: Final = logging.getLevelNamesMapping()
_STOP_SECONDS: Final = 15.0


class Child:
    """`trimq server --hand` on free ports of the loopback; its log goes to this process's."""

    def __init__(self, store: Path, settings: Mapping[str, str], grpc: bool = False) -> None:
        """`grpc`: with a proxy beside it."""
        self._command = [sys.executable, "-m", "trimq", "server", "--store", str(store)]
        for option in ("--listen", "--namesrv-listen", "--hand", *(["--grpc"] if grpc else [])):
            self._command += [option, "127.0.0.1:0"]
        for key, value in settings.items():
            self._command += ["--set", f"{key}={value}"]
        self._process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []
        self._last: list[str] = []

    def start(self) -> tuple[str, str, str, str | None]:
        """Where NameServer, broker, hand and proxy are. HandError with its last words if it ends before it is ready."""
        # What is imported here is what it runs, wherever this process was started.
        paths = os.pathsep.join([path for path in sys.path if path])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
        environment.pop("NAMESRV_ADDR", None)
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self._read(process.stderr)
        for line in process.stdout:
            if found := _READY.match(line):
                self._read(process.stdout)
                return found[1], found[2], found[3], found[4]
        self.stop()
        raise HandError("the server ended before it was ready: " + " ".join(self._last[-3:]))

    def stop(self) -> int:
        """Cleanly; killed when it takes too long. Its exit code."""
        process = self._process
        if process is None:
            return 0
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        return process.returncode

    def _read(self, stream: IO[str]) -> None:
        """A pipe that nobody reads would stop it."""

        def run() -> None:
            for line in stream:
                text = line.rstrip("\n")
                found = _LEVEL.match(text)
                log.log(_LEVELS[found[1]] if found else logging.INFO, "%s", text)
                self._last.append(text)
                del self._last[:-20]

        reader = threading.Thread(target=run, name="trimq-log", daemon=True)
        reader.start()
        self._readers.append(reader)
