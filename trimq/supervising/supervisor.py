"""``trimq server --brokers N``: a NameServer here, unless others are named, and a process for each broker.

A RocketMQ cluster grows by broker names: topics spread over them, and a store has one writer. So this shares no
port among them.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack

import trio

from trimq.process.metrics import metrics_server
from trimq.process.service_manager import told_manager
from trimq.process.state import ProcessState
from trimq.process.stop_signals import STOP_SECONDS, stop_signals
from trimq.serving.failures import explained_plainly
from trimq.serving.ready_line import Ready, broker_line
from trimq.serving.server import given_sockets, made_namesrv, open_namesrv
from trimq.settings.endpoints import Endpoint
from trimq.settings.options import ServerOptions, metrics_endpoint, prepare_store
from trimq.settings.passed_sockets import METRICS, NAMESRV, PassedSockets
from trimq.settings.process import resources_of
from trimq.supervising.broker_layout import Family, family_of
from trimq.supervising.child import Child
from trimq.supervising.page import FamilyPage

log = logging.getLogger("trimq.supervisor")


async def run_family(
    options: ServerOptions, count: int, shared: Sequence[str], ready: Ready
) -> None:
    """Until SIGINT or SIGTERM. `shared` are arguments of all brokers. SettingsError, ChildFailed."""
    family = family_of(options, count)
    page_at = metrics_endpoint(options)
    prepare_store(family.root)
    passed = given_sockets()
    passed.check(_listens_on(family, page_at))
    with stop_signals(STOP_SECONDS + 0.7) as stop:
        async with explained_plainly(), AsyncExitStack() as stack:
            manager = await stack.enter_async_context(told_manager())
            namesrv = await _namesrv(family, stack, passed)
            children = [
                Child(
                    member,
                    reachable(namesrv),
                    shared,
                    page_at is not None,
                    manager.watchdog_seconds,
                )
                for member in family.members
            ]
            nursery = await stack.enter_async_context(trio.open_nursery())
            async with trio.open_nursery() as starting:
                for child in children:
                    starting.start_soon(nursery.start, child.run)
            for child in children:
                others = [other.address for other in children if other is not child]
                await child.tell_siblings(others)
            if page_at is not None:
                page = FamilyPage(children)
                address = await stack.enter_async_context(
                    metrics_server(page_at, page, page.refresh, page.ready, passed)
                )
                log.info("metrics served: address=%s", address)
            addresses = ",".join(child.address for child in children)
            line = broker_line(namesrv, addresses, family.root)
            ready(line)
            manager.serves(line)
            await stop.wait()
            manager.stops()
            async with trio.open_nursery() as stopping:
                for child in children:
                    stopping.start_soon(child.stop)
            nursery.cancel_scope.cancel()


def _listens_on(family: Family, page_at: Endpoint | None) -> Iterator[tuple[str, Endpoint]]:
    """In this process: each broker opens its ports in its own."""
    if family.plan.embedded is not None:
        yield NAMESRV, family.plan.embedded.listen
    if page_at is not None:
        yield METRICS, page_at


async def _namesrv(family: Family, stack: AsyncExitStack, passed: PassedSockets) -> str:
    """Where brokers register."""
    plan = family.plan
    if plan.embedded is None:
        return plan.broker.namesrv_addr or ""
    namesrv = made_namesrv(plan.embedded)
    process = ProcessState(resources=resources_of(plan.server), passed=passed)
    return str(await stack.enter_async_context(open_namesrv(namesrv, plan.embedded, process)))


def reachable(namesrv: str) -> str:
    """A NameServer that listens on all addresses is reached over the loopback."""
    if ";" in namesrv:
        return namesrv
    endpoint = Endpoint.parse(namesrv)
    if endpoint.host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if endpoint.host == "0.0.0.0" else "::1"
        return str(Endpoint(host, endpoint.port))
    return namesrv
