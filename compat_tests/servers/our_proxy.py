"""``trimq proxy`` under test, started with its public command line only."""

from __future__ import annotations

from pathlib import Path

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.ours import COMMAND, environment
from compat_tests.servers.processes import HOST, Child, free_port


class OurProxy:
    """Before one NameServer; it serves gRPC only, so `remoting` is that NameServer."""

    def __init__(self, home: Path, namesrv: str, tree: Path = ROOT) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        self._tree = tree
        self.grpc = f"{HOST}:{free_port()}"
        self.remoting = namesrv
        self._child: Child | None = None

    def start(self) -> OurProxy:
        words = [*COMMAND, "proxy", "--namesrv", self.remoting, "--listen", self.grpc]
        self._child = Child(words, self._home / "proxy.log", environment(self._tree))
        self._child.wait_for("TriMQ proxy ready:")
        return self

    @property
    def pid(self) -> int:
        if self._child is None:
            raise RuntimeError("the proxy does not run")
        return self._child.pid

    def stop(self) -> None:
        """As a crash does."""
        if self._child is not None:
            self._child.kill()
            self._child = None
