"""``trimq proxy``: the endpoint of the 5.x clients, a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import trio

from trimq.process.garbage import frozen_garbage, look_when_due
from trimq.process.stop_signals import stop_signals
from trimq.process.tls import name_server_context, server_tls
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.grpc.server import GrpcServer
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.wiring import Proxy
from trimq.serving.failures import explained_plainly
from trimq.serving.ready_line import Ready
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import listen
from trimq.settings.proxy import ProxyPlan

# For giving back what clients have.
_LEAVE_SECONDS: Final = 3.0


@asynccontextmanager
async def open_proxy(plan: ProxyPlan, option: str = "--listen") -> AsyncIterator[Endpoint]:
    """Where it listens, while the block runs. `option`: what of the command line says where."""
    tls = server_tls(plan.tls, protocols=("h2",), key="tlsCertPath")
    to_servers = name_server_context(plan.tls)
    sock = listen(plan.listen, option=option)
    bound = Endpoint(plan.listen.host, sock.getsockname()[1])
    async with trio.open_nursery() as nursery:
        proxy = Proxy(plan.config, plan.name_servers, nursery, plan.advertise, tls=to_servers)
        server = GrpcServer(proxy.methods, tls, plan.balancers, bounds_of(plan.config))
        async with trio.open_nursery() as serving:
            await serving.start(partial(server.serve, [sock]))
            yield bound
            await proxy.leave()
            # Streams under way may end while all that they need still runs.
            serving.cancel_scope.cancel()
        with trio.move_on_after(_LEAVE_SECONDS):
            await proxy.close()
        nursery.cancel_scope.cancel()


def bounds_of(config: ProxyConfig) -> GrpcBounds:
    """The bounds that have names in the configuration."""
    streams = min(config.grpc_max_concurrent_calls_per_connection, Http2Bounds().streams)
    return GrpcBounds(
        http2=Http2Bounds(streams=streams),
        message_bytes=config.grpc_max_inbound_message_size,
        idle_seconds=config.grpc_client_idle_time_mills / 1000,
    )


@asynccontextmanager
async def collecting() -> AsyncIterator[None]:
    """The collector of cycles looks at what is young, while the block runs: for processes that are a proxy."""
    with frozen_garbage() as garbage:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look_when_due, garbage)
            yield
            nursery.cancel_scope.cancel()


async def run_proxy(plan: ProxyPlan, ready: Ready) -> None:
    """Until SIGINT or SIGTERM."""
    with stop_signals() as stop:
        async with explained_plainly(), open_proxy(plan) as bound, collecting():
            ready(f"TriMQ proxy ready: grpc={bound} namesrv={';'.join(plan.name_servers)}")
            await stop.wait()
