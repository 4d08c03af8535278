"""The real broker and TriMQ over one folder, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.servers import containers
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.processes import HOST, wait_until
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from compat_tests.wire.stage import Place, Stage


class Sides:
    """Both brokers over one folder; one of them runs at a time."""

    def __init__(self, home: Path, settings: dict[str, str], name: str) -> None:
        """`name`: that of the case, which its topics and groups have in theirs."""
        options = Options(settings=settings)
        self._name = name
        self._real = RealBroker(containers.launcher(), home, f"{HOST}:1", options)
        self._ours = TrimqServer(home, options)
        assert self._real.store == self._ours.store
        self._stage: Stage | None = None
        self._running = ""

    def start(self, name: str) -> Stage:
        """With connections for clients; the broker knows none of them yet."""
        self._running = name
        if name == "real":
            self._real.start()
            addr = self._real.addr
        else:
            addr = self._ours.start().broker_addr
        self._stage = Stage(Place("", addr, "rinterop"), self._name)
        return self._stage

    def wait_until_written(self, seconds: float, *names: str) -> None:
        """So long; and until the real broker, if that is the one, has written these tables in that time or later.

        It does so every few seconds, which are more of them on a busy machine, whether they have changed or not.
        """
        began = time.time()
        time.sleep(seconds)
        if self._running == "real":
            files = [self._real.store / "config" / name for name in names]
            wait_until(
                f"{', '.join(names)} are written",
                lambda: all(file.exists() and file.stat().st_mtime > began for file in files),
            )

    def stop(self, kill: bool) -> None:
        if self._stage is not None:
            self._stage.__exit__()
            self._stage = None
        side = self._real if self._running == "real" else self._ours
        if kill:
            side.kill()
        else:
            side.stop()
        self._running = ""

    def end(self) -> None:
        if self._running:
            self.stop(kill=True)


def eventually(holds: Callable[[], bool], what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} s: {what}")
        time.sleep(0.1)
