"""``trimq proxy``: the endpoint of the 5.x clients, a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import trio

from trimq.process.stop_signals import stop_signals
from trimq.process.tls import server_tls
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.server import GrpcServer
from trimq.proxy.wiring import Proxy
from trimq.serving.ready_line import Ready
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import listen
from trimq.settings.tls import TlsConfig


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """`advertise`: HOST:PORT that clients are told; empty: what they have called."""

    listen: Endpoint
    name_servers: Sequence[str]
    config: ProxyConfig
    advertise: str = ""
    tls: TlsConfig = TlsConfig()


@asynccontextmanager
async def open_proxy(options: ProxyOptions) -> AsyncIterator[Endpoint]:
    """Where it listens, while the block runs."""
    tls = server_tls(options.tls, protocols=("h2",))
    sock = listen(options.listen)
    bound = Endpoint(options.listen.host, sock.getsockname()[1])
    async with trio.open_nursery() as nursery:
        proxy = Proxy(options.config, options.name_servers, nursery, options.advertise)
        server = GrpcServer(proxy.methods, tls, most=options.config.grpc_max_inbound_message_size)
        await nursery.start(partial(server.serve, [sock]))
        yield bound
        nursery.cancel_scope.cancel()


async def run_proxy(options: ProxyOptions, ready: Ready) -> None:
    """Until SIGINT or SIGTERM."""
    with stop_signals() as stop:
        async with open_proxy(options) as bound:
            ready(f"TriMQ proxy ready: grpc={bound} namesrv={';'.join(options.name_servers)}")
            await stop.wait()
