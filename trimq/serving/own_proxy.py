"""The proxy that a server has beside it: `trimq proxy` as a process of its own, which ends with the server.

It is started before anything else, so that it loads while the server opens its store. Over its standard input it is
told then whom it is before. What it listens on stays when it is started again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import trio

from trimq.process.tls import server_tls
from trimq.serving.kept_process import KeptProcess
from trimq.settings.endpoints import AddressError
from trimq.settings.listening import check_free
from trimq.settings.options import ServerPlan
from trimq.settings.proxy_seat import ProxySeat
from trimq.settings.sources import Sources

# One whose server was killed leaves its port within this time (orphans.py).
_LEAVING_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.1
# What counts for the proxy's port as it does for the server's.
_SHARED = ("proxyProtocolFrom",)


class OwnProxy(KeptProcess):
    """`address` is where it listens."""

    def __init__(self, seat: ProxySeat, settings: Mapping[str, str]) -> None:
        super().__init__("proxy", str(seat.listen))
        self._seat = seat
        self._settings = settings
        self._namesrv = ""
        self._told = trio.Event()
        self._ready = trio.Event()

    def command(self) -> list[str]:
        listen = self.address or str(self._seat.listen)
        words = ["--supervised", "--listen", listen, *self._seat.words]
        return [sys.executable, "-m", "trimq", "proxy", *words]

    def environment(self) -> Mapping[str, str]:
        """What is imported here is what it runs, wherever this process was started."""
        paths = os.pathsep.join(path for path in sys.path if path)
        return {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}

    async def began(self) -> None:
        await self._told.wait()
        await self.tell(json.dumps({"namesrv": self._namesrv, "settings": dict(self._settings)}))

    async def heard(self, line: bytes) -> None:
        told = json.loads(line)
        if "failed" in told:
            self.failure = told["failed"]
            return
        self.address = told["grpc"]
        self._ready.set()

    async def ready(self, namesrv: str) -> str:
        """Where it listens, before the brokers that these NameServers know."""
        self._namesrv = namesrv
        self._told.set()
        await self._ready.wait()
        return self.address


async def check_proxy(plan: ServerPlan, seat: ProxySeat) -> None:
    """What its process would say later, when the store is open already: SettingsError, AddressError."""
    # Of a server without a proxy, nothing of it is loaded.
    from trimq.settings.proxy import DEFAULT_NAMESRV, ProxyFlags, proxy_plan

    # Whom it is before is not known yet, and not what can be wrong.
    flags = ProxyFlags(config=seat.config, namesrv=DEFAULT_NAMESRV, settings=_settings(plan))
    server_tls(proxy_plan(flags, says=False).tls)
    deadline = trio.current_time() + _LEAVING_SECONDS
    while True:
        try:
            check_free(seat.listen, "--grpc")
        except AddressError:
            if trio.current_time() >= deadline:
                raise
        else:
            return
        await trio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def own_proxy(plan: ServerPlan, seat: ProxySeat) -> AsyncIterator[OwnProxy]:
    """Until the block ends. ChildFailed when it does not start; SettingsError, AddressError before that."""
    await check_proxy(plan, seat)
    proxy = OwnProxy(seat, _settings(plan))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(proxy.run)
        yield proxy
        await proxy.stop()
        nursery.cancel_scope.cancel()


def _settings(plan: ServerPlan) -> dict[str, str]:
    """TLS is configured once for all ports of a server."""
    found = _of(plan.sources)
    found["rocketMQClusterName"] = plan.broker.broker_cluster_name
    # RocketMQ's file for a broker and its proxy says "local".
    found["proxyMode"] = "cluster"
    return found


def _of(sources: Sources) -> dict[str, str]:
    return {
        key: text for key, text in sources.texts.items() if key.startswith("tls.") or key in _SHARED
    }
