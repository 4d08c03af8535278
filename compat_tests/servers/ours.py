"""TriMQ under test, started with its public command line only."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.processes import HOST, Child, NotReady, free_port
from compat_tests.servers.server import Options, write_broker_conf

READY: Final = re.compile(
    r"TriMQ ready: namesrv=(?P<namesrv>\S+) broker=(?P<broker>\S+) store=(?P<store>.+) in \d+ ms"
)
COMMAND: Final = (sys.executable, "-m", "trimq")
# Where `make` has put a copy of the tree with its hot modules compiled.
COMPILED_TREE: Final = ROOT / "build" / "compiled"


def builds() -> dict[str, Path]:
    """The trees that TriMQ can run from: plain Python, and compiled if that was made."""
    if [*ROOT.glob("codec/**/*.so"), *ROOT.glob("trimq/*.so")]:
        raise RuntimeError(
            f"{ROOT} holds compiled modules: remove its *.so, 'make compiled' has its own tree"
        )
    found = {"pure": ROOT}
    if list(COMPILED_TREE.glob("codec/frames/frame*.so")):
        found["compiled"] = COMPILED_TREE
    return found


def environment(tree: Path) -> dict[str, str]:
    """In which `python -m trimq` is that of the tree."""
    # Stderr and stdout share a file; unbuffered, so that the log's order is the order of events.
    # A safe path leaves the working directory out: the packages are those of `tree`.
    return {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": str(tree),
    }


class TrimqServer:
    """``trimq server``, with the NameServer inside or with another one: see server.Server."""

    kind = "trimq"
    description = "python -m trimq server"

    def __init__(
        self,
        home: Path,
        options: Options | None = None,
        *,
        namesrv: str | None = None,
        command: Sequence[str] = COMMAND,
        tree: Path = ROOT,
    ) -> None:
        """`tree` is the checkout whose packages run. While the server is down, that and `options` may become others."""
        self.home = home
        self.tree = tree
        self.store = home / "store"
        self.options = options or Options()
        self._command = command
        self._foreign_namesrv = namesrv
        # Port 0 would give it ports of which, while it is down for a restart, outgoing connections may take one.
        self._namesrv = namesrv or f"{HOST}:{free_port()}"
        self._broker = f"{HOST}:{free_port()}"
        self._child: Child | None = None
        home.mkdir(parents=True, exist_ok=True)

    def _arguments(self) -> list[str]:
        # The real one believes everybody who sends a PROXY preamble.
        settings = self.options.merged() | {"proxyProtocolFrom": HOST}
        tls = self.options.tls
        if tls is not None:
            file = tls.write_properties(self.home / "tls.properties")
            settings |= {"tls.config.file": str(file), "tls.server.mode": "enforcing"}
        conf = write_broker_conf(self.home / "broker.conf", settings)
        namesrv = "--namesrv" if self._foreign_namesrv else "--namesrv-listen"
        where = [namesrv, self._namesrv, "--listen", self._broker]
        return [*self._command, "server", *where, "--store", str(self.store), "--config", str(conf)]

    def start(self) -> TrimqServer:
        self._child = Child(self._arguments(), self.home / "trimq.log", environment(self.tree))
        try:
            line = self._child.wait_for("TriMQ ready:")
        except NotReady:
            self.kill()
            raise
        found = READY.search(line)
        if found is None:
            self.kill()
            raise NotReady(f"not the ready line that DESIGN.md promises: {line!r}")
        told = (self._foreign_namesrv or found["namesrv"], found["broker"])
        if told != (self._namesrv, self._broker):
            self.kill()
            raise NotReady(f"it listens elsewhere than it was told to: {line!r}")
        return self

    @property
    def namesrv_addr(self) -> str:
        return self._namesrv

    @property
    def broker_addr(self) -> str:
        return self._broker

    @property
    def broker_pid(self) -> int:
        if self._child is None:
            raise RuntimeError("not running")
        return self._child.pid

    def log(self) -> str:
        """Everything that TriMQ wrote since its last start."""
        return self._child.output() if self._child else ""

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill9(self) -> None:
        self.kill()
        self.start()

    def restart_namesrv(self) -> None:
        raise NotImplementedError(
            "the NameServer lives in the broker's process: use TrimqNameServer"
        )

    def stop(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            code = child.stop()
            if code != 0:
                raise AssertionError(f"clean shutdown ended with {code}:\n{child.output()[-4000:]}")

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


class TrimqNameServer:
    """``trimq namesrv`` alone."""

    def __init__(self, home: Path, command: Sequence[str] = COMMAND) -> None:
        self._home = home
        self._command = command
        self._child: Child | None = None
        self.addr = f"{HOST}:{free_port()}"
        home.mkdir(parents=True, exist_ok=True)

    def start(self) -> TrimqNameServer:
        command = [*self._command, "namesrv", "--listen", self.addr]
        self._child = Child(command, self._home / "namesrv.log", environment(ROOT))
        line = self._child.wait_for("TriMQ ready:")
        if f"namesrv={self.addr} " not in f"{line} ":
            raise NotReady(f"not namesrv={self.addr} in the ready line: {line!r}")
        return self

    def stop(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.stop()
