"""Run servers: ``trimq.serve`` for programs, ``run_server`` and ``run_namesrv`` for the command line."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from trimq.base.clock import Clock
from trimq.broker.cluster.registration import name_server_list
from trimq.broker.services.siblings import Siblings
from trimq.process.loop_steps import before_threads, watched
from trimq.process.probes import Probe
from trimq.process.service_manager import told_manager
from trimq.process.state import ProcessState
from trimq.process.stop_signals import stop_signals
from trimq.process.tls import server_tls
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.request_log import RequestLog
from trimq.remoting.serving.server import Server
from trimq.serving.failures import explained_plainly
from trimq.serving.reachable import reachable
from trimq.serving.ready_line import Ready, broker_line, namesrv_line
from trimq.serving.running import open_broker
from trimq.serving.several import check_not_several
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import listen
from trimq.settings.options import (
    NamesrvOptions,
    NamesrvPlan,
    ServerOptions,
    ServerPlan,
    namesrv_plan,
    prepare_store,
    server_plan,
)
from trimq.settings.passed_sockets import NAMESRV, PassedSockets
from trimq.settings.process import limits_of, resources_of
from trimq.wiring.namesrv import Namesrv, build_namesrv
from trimq.wiring.parts.brokers.cluster import NameServers

if TYPE_CHECKING:
    from trimq.hand.hand import Hand
    from trimq.hand.process import Process
    from trimq.serving.own_proxy import OwnProxy


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Where a running server is, as clients write it."""

    namesrv_addr: str
    broker_addr: str
    store: Path
    metrics_addr: str | None
    # The port that the broker listens on, whatever clients are told.
    port: int = 0
    siblings: Siblings | None = None
    # What /readyz says.
    ready: Probe | None = None
    # Of a server that is in the hand of a test.
    process: "Process | None" = None
    # Where its proxy serves the 5.x clients.
    grpc_addr: str | None = None


@asynccontextmanager
async def serve(
    store: Path | str,
    *,
    listen: str = "127.0.0.1:0",
    namesrv: str | None = None,
    namesrv_listen: str | None = None,
    advertise: str | None = None,
    settings: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    grpc: str | None = None,
) -> AsyncIterator[RunningServer]:
    """A broker, and a NameServer unless ``namesrv`` names others, until the block ends.

    Port 0 (the default) picks free ports. ``settings`` are ``broker.conf`` keys and their texts.
    ``clock`` stands for this machine's, for tests that set it. ``grpc``: where a proxy, a process of its own, serves
    the 5.x clients.
    Raises AddressError, SettingsError or StoreError when it cannot start.
    """
    options = ServerOptions(
        store=Path(store),
        listen=listen,
        namesrv=namesrv,
        namesrv_listen=namesrv_listen or (None if namesrv else "127.0.0.1:0"),
        advertise=advertise,
        settings=settings or {},
        grpc=grpc,
        log_words=("--log-level", "warning"),
    )
    async with open_server(options, clock) as running:
        yield running


@asynccontextmanager
async def open_server(
    options: ServerOptions,
    clock: Clock | None = None,
    passed: PassedSockets | None = None,
    hand: "Hand | None" = None,
) -> AsyncIterator[RunningServer]:
    """Start everything that the options ask for; leaving the block is the clean shutdown.

    `passed`: sockets that are open already. `hand`: of a test; its clock is the broker's, and nobody else's.
    """
    passed = passed or PassedSockets()
    plan = planned(options)
    hand = hand or made_hand(plan)
    real = clock or Clock()
    clock = real if hand is None else hand.clock
    passed.check(plan.listens_on())
    prepare_store(plan.store.root)
    check_not_several(plan.store.root)
    async with explained_plainly(), AsyncExitStack() as stack:
        namesrv_addr = plan.broker.namesrv_addr or ""
        process = ProcessState(resources=resources_of(plan.server), passed=passed)
        proxy = await begun_proxy(plan, stack)
        stack.enter_context(watched(process.steps))
        stack.enter_context(before_threads())
        namesrv: Namesrv | None = None
        if plan.embedded is not None:
            namesrv = made_namesrv(plan.embedded, real)
            namesrv_addr = str(
                await stack.enter_async_context(open_namesrv(namesrv, plan.embedded, process, hand))
            )
        tell_local = namesrv.routes.register_topic if namesrv is not None else None
        name_servers = NameServers(name_server_list(namesrv_addr), tell_local)
        broker = await stack.enter_async_context(
            open_broker(plan, name_servers, process, clock, hand)
        )
        grpc_addr = None
        if proxy is not None:
            grpc_addr = await proxy.ready(namesrv_addr)
            # Before the broker that it is before.
            stack.push_async_callback(proxy.stop)
        held = None
        if hand is not None and plan.hand is not None:
            held = await stack.enter_async_context(
                served_hand(hand, plan, namesrv_addr, broker.port, grpc_addr)
            )
        yield RunningServer(
            namesrv_addr,
            broker.address,
            plan.store.root,
            broker.metrics_addr,
            broker.port,
            broker.siblings,
            broker.ready,
            held,
            grpc_addr,
        )


async def begun_proxy(plan: ServerPlan, stack: AsyncExitStack) -> "OwnProxy | None":
    """It loads while the server opens; None, and nothing of it is loaded, where none is wanted."""
    if plan.grpc is None:
        return None
    from trimq.serving.own_proxy import own_proxy

    return await stack.enter_async_context(own_proxy(plan, plan.grpc))


def made_hand(plan: ServerPlan) -> "Hand | None":
    """None, and nothing of it is loaded, for a server that is not to be in a test's hand."""
    if plan.hand is None:
        return None
    from trimq.hand.process import hand_of_process

    return hand_of_process()


@asynccontextmanager
async def served_hand(
    hand: "Hand", plan: ServerPlan, namesrv_addr: str, port: int, grpc_addr: str | None = None
) -> AsyncIterator["Process"]:
    """Until the block ends. `port`: of the broker."""
    from trimq.hand.process import Process
    from trimq.hand.server import hand_server

    assert plan.hand is not None
    async with hand_server(hand, plan.hand) as bound:
        process = Process(
            hand,
            str(bound),
            Endpoint(plan.listen.host, port),
            namesrv_addr if plan.embedded is not None else None,
            [*sys.argv[1:], *([] if grpc_addr is None else ["--grpc", grpc_addr])],
        )
        hand.add(process.operations)
        yield process


def planned(options: ServerOptions) -> ServerPlan:
    """What the options ask for, with everything that it listens on."""
    plan = server_plan(options)
    return reachable(plan, options.listen is not None or "bindAddress" in plan.sources.texts)


def made_namesrv(plan: NamesrvPlan, clock: Clock | None = None) -> Namesrv:
    """With its files read; `open_namesrv` serves it."""
    return build_namesrv(plan.namesrv, clock or Clock(), plan.sources, (plan.server, plan.tls))


@asynccontextmanager
async def open_namesrv(
    namesrv: Namesrv, plan: NamesrvPlan, process: ProcessState, hand: "Hand | None" = None
) -> AsyncIterator[Endpoint]:
    """Serve a NameServer until the block ends; yields the address it really listens on."""
    dispatcher = Dispatcher(namesrv.parts.processors, request_log=RequestLog("NameServer"))
    server = Server(
        dispatcher,
        listener=namesrv.parts,
        tls=server_tls(plan.tls),
        balancers=plan.server.balancers,
        # Java clients connect to every NameServer that they know, and send to one.
        limits=replace(limits_of(plan.server), first_byte_seconds=0),
        resources=process.resources,
    )
    if hand is not None:
        hand.faults.attach_name_server(dispatcher, server, namesrv.parts.processors)
    sock = listen(plan.listen, NAMESRV, process.passed)
    bound = Endpoint(plan.listen.host, sock.getsockname()[1])
    async with trio.open_nursery() as nursery:
        for name, service in namesrv.parts.services.items():
            nursery.start_soon(process.supervisor.keep, name, service)
        await nursery.start(server.serve, [sock])
        yield bound
        nursery.cancel_scope.cancel()


async def run_server(options: ServerOptions, ready: Ready) -> None:
    """``trimq server``: until SIGINT or SIGTERM."""
    ended: Callable[[], None] | None = None
    with stop_signals() as stop:
        async with (
            told_manager() as manager,
            open_server(options, passed=given_sockets()) as running,
        ):
            line = broker_line(running.namesrv_addr, running.broker_addr, running.store)
            if running.process is not None:
                line += f" hand={running.process.address}"
                ended = running.process.ended
            if running.grpc_addr is not None:
                line += f" grpc={running.grpc_addr}"
            ready(line)
            manager.serves(line, running.ready)
            await stop.wait()
            manager.stops()
    if ended is not None:
        ended()


async def run_namesrv(options: NamesrvOptions, ready: Ready) -> None:
    """``trimq namesrv``: until SIGINT or SIGTERM."""
    plan = namesrv_plan(options)
    with stop_signals() as stop:
        passed = given_sockets()
        passed.check([(NAMESRV, plan.listen)])
        namesrv = made_namesrv(plan)
        process = ProcessState(resources=resources_of(plan.server), passed=passed)
        async with told_manager() as manager, open_namesrv(namesrv, plan, process) as bound:
            line = namesrv_line(str(bound))
            ready(line)
            manager.serves(line)
            await stop.wait()
            manager.stops()


def given_sockets() -> PassedSockets:
    """Of this process, which is not one that only uses `serve`."""
    return PassedSockets.of_environment(os.environ)


__all__ = ["RunningServer", "ServerOptions", "ServerPlan", "open_server", "serve"]
