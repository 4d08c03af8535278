"""`trimq server --brokers N`, of the compiled build."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

from bench.servers.subjects import COMPILED
from compat_tests.servers.processes import HOST, Child, NotReady

_READY: Final = re.compile(r"TriMQ ready: namesrv=(\S+) broker=(\S+) store=")


class Family:
    """Started with its NameServer on free ports; `addresses` are its brokers'."""

    def __init__(self, home: Path, brokers: int) -> None:
        home.mkdir(parents=True)
        command = [sys.executable, "-m", "trimq", "server", "--brokers", str(brokers)]
        command += ["--listen", f"{HOST}:0", "--namesrv-listen", f"{HOST}:0"]
        command += ["--store", str(home / "stores")]
        environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(COMPILED)}
        self._child = Child(command, home / "trimq.log", environment)
        try:
            line = self._child.wait_for("TriMQ ready:")
            found = _READY.search(line)
            if found is None:
                raise NotReady(f"not the ready line: {line!r}")
        except NotReady:
            self._child.kill()
            raise
        self.addresses = found[2].split(",")

    def stop(self) -> None:
        code = self._child.stop()
        if code != 0:
            raise RuntimeError(f"{code}:\n{self._child.output()[-4000:]}")
