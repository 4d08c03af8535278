"""The real broker and TriMQ over one folder, one after the other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from compat_tests.servers import containers
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.processes import HOST
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from compat_tests.wire.stage import Place, Stage

# How much later than planned a busy real broker writes its tables.
LATE_SECONDS: Final = 60.0


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
        """So long; on a busy machine longer, until the real broker has written these tables in that time or later.

        It does so every few seconds. What it has not written after a while it will not write: what comes of that is
        compared.
        """
        began = time.time()
        time.sleep(seconds)
        if self._running != "real":
            return
        files = [self._real.store / "config" / name for name in names]
        while time.time() < began + seconds + LATE_SECONDS:
            if all(is_written(file, began) for file in files):
                return
            time.sleep(0.1)

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


def is_written(file: Path, since: float) -> bool:
    """A table is there at any moment but that in which the new one takes its place."""
    try:
        return file.stat().st_mtime > since
    except FileNotFoundError:
        return False
