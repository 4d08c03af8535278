"""All servers of a part at once, of which only the one whose turn it is runs.

So each is started and warmed once, and rounds follow each other within seconds. The others are stopped by the kernel
(SIGSTOP): idling, the real broker would take a tenth of a core from whoever is measured.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from bench.servers.subjects import Subject, is_running, pids_of, store_of

# What was due while a server was stopped comes at once: heartbeats, registrations, looks at old files.
CATCH_UP_SECONDS: Final = 1.0


class Fleet:
    """Started servers by kind."""

    def __init__(
        self, servers: Mapping[str, Subject], catch_up_seconds: float = CATCH_UP_SECONDS
    ) -> None:
        self._servers = dict(servers)
        self._catch_up_seconds = catch_up_seconds

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def start(self) -> dict[str, float]:
        """One after the other; how many seconds each took."""
        took: dict[str, float] = {}
        for kind, server in self._servers.items():
            began = time.monotonic()
            server.start()
            took[kind] = time.monotonic() - began
            self._signal(kind, signal.SIGSTOP)
        return took

    @contextmanager
    def turn(self, kind: str) -> Iterator[Subject]:
        """The server runs within the block; it may be stopped and started there."""
        self._signal(kind, signal.SIGCONT)
        time.sleep(self._catch_up_seconds)
        try:
            yield self._servers[kind]
        finally:
            # The next one must not wait for this one's pages.
            _written(store_of(self._servers[kind]))
            self._signal(kind, signal.SIGSTOP)

    def stop(self) -> None:
        """All of them, also when one does not stop as it should."""
        with ExitStack() as stack:
            for kind, server in self._servers.items():
                stack.callback(server.stop)
                # Who is stopped by the kernel hears no SIGTERM.
                stack.callback(self._signal, kind, signal.SIGCONT)

    def _signal(self, kind: str, number: signal.Signals) -> None:
        server = self._servers[kind]
        for pid in pids_of(server) if is_running(server) else ():
            os.kill(pid, number)


def _written(folder: Path) -> None:
    """All files are on the disk, but for those that a server deletes or replaces meanwhile."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                fd = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
