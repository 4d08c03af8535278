"""RocketMQ's proxy before each server of a fleet, stopped by the kernel together with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.servers.subjects import Subject
from compat_tests.servers.proxy import Proxy


class Proxies:
    """By kind of server; a proxy is started in the first turn of its server."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._proxies: dict[str, Proxy] = {}

    @contextmanager
    def turn(self, kind: str, server: Subject) -> Iterator[str]:
        """The address of the gRPC endpoint of the server's proxy, which runs within the block."""
        if kind not in self._proxies:
            proxy = Proxy(self._home / f"proxy-{kind}", server.namesrv_addr)
            self._proxies[kind] = proxy.start()
        proxy = self._proxies[kind]
        os.kill(proxy.pid, signal.SIGCONT)
        try:
            yield proxy.grpc
        finally:
            os.kill(proxy.pid, signal.SIGSTOP)

    def stop(self) -> None:
        """All of them."""
        with ExitStack() as stack:
            for proxy in self._proxies.values():
                stack.callback(proxy.stop)
        self._proxies.clear()


@contextmanager
def proxies(home: Path) -> Iterator[Proxies]:
    """They end with the block."""
    found = Proxies(home)
    try:
        yield found
    finally:
        found.stop()
