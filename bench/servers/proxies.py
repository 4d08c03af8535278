"""A proxy before each server of a fleet, stopped by the kernel together with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.servers.subjects import BEFORE, COMPILED, OURS, REAL, ROOT, Subject
from compat_tests.servers.our_proxy import OurProxy
from compat_tests.servers.proxy import Proxy


class Proxies:
    """By kind of server; a proxy is started in the first turn of its server.

    RocketMQ's before all of them, or with `own` TriMQ's before TriMQ.
    """

    def __init__(self, home: Path, own: bool = False) -> None:
        self._home = home
        self._own = own
        self._proxies: dict[str, Proxy | OurProxy] = {}

    def pid(self, kind: str) -> int:
        """Of one that was started."""
        return self._proxies[kind].pid

    @contextmanager
    def turn(self, kind: str, server: Subject) -> Iterator[str]:
        """The address of the gRPC endpoint of the server's proxy, which runs within the block."""
        if kind not in self._proxies:
            self._proxies[kind] = self._made(kind, server).start()
        proxy = self._proxies[kind]
        os.kill(proxy.pid, signal.SIGCONT)
        try:
            yield proxy.grpc
        finally:
            os.kill(proxy.pid, signal.SIGSTOP)

    def _made(self, kind: str, server: Subject) -> Proxy | OurProxy:
        home = self._home / f"proxy-{kind}"
        if self._own and kind not in (REAL, BEFORE):
            tree = COMPILED if kind == OURS else ROOT
            return OurProxy(home, server.namesrv_addr, tree)
        return Proxy(home, server.namesrv_addr)

    def stop(self) -> None:
        """All of them."""
        with ExitStack() as stack:
            for proxy in self._proxies.values():
                stack.callback(proxy.stop)
        self._proxies.clear()


@contextmanager
def proxies(home: Path, own: bool = False) -> Iterator[Proxies]:
    """They end with the block. `own`: TriMQ's before TriMQ."""
    found = Proxies(home, own)
    try:
        yield found
    finally:
        found.stop()
