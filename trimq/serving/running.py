"""Start and stop a broker: what happens in which order, and what must happen whatever else fails."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from trimq.base.clock import Clock
from trimq.broker.foreign_store.databases import refuse_databases
from trimq.broker.foreign_store.pending_messages import refuse_pending
from trimq.broker.identity import BrokerIdentity
from trimq.broker.services.siblings import Siblings
from trimq.broker.topics.queue_types import stored_queue_types
from trimq.process.garbage import frozen_garbage, look_when_due
from trimq.process.metrics import Sample, SampleCollector, metrics_server
from trimq.process.probes import Probe, Verdict
from trimq.process.state import ProcessState
from trimq.process.tls import server_tls
from trimq.remoting.serving.admission import ConnectionAdmission
from trimq.remoting.serving.server import Server
from trimq.serving.readiness import Readiness
from trimq.settings.advertise_file import AdvertiseFile
from trimq.settings.endpoints import AddressError, Endpoint, address_of
from trimq.settings.listening import BrokerSockets, bind_broker
from trimq.settings.options import ServerPlan, told_endpoint
from trimq.settings.process import limits_of
from trimq.store.message_store import MessageStore
from trimq.store.opening.recovery_points import RecoveryPoints
from trimq.store.opening.report import RecoveryReport
from trimq.wiring.broker import Broker, build_broker
from trimq.wiring.context import Context
from trimq.wiring.parts.brokers.cluster import NameServers

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

log = logging.getLogger("trimq.server")

# How long a stopping broker waits for NameServers that do not answer.
_LEAVE_SECONDS = 3


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """Where it is. ``address`` is the one that clients are told."""

    address: str
    metrics_addr: str | None
    port: int
    siblings: Siblings | None
    ready: Probe


@asynccontextmanager
async def open_broker(
    plan: ServerPlan,
    name_servers: NameServers,
    process: ProcessState,
    clock: Clock,
    hand: "Hand | None" = None,
) -> AsyncIterator[RunningBroker]:
    """Ports are bound first, then come store, services and clients; stopping goes in reverse order.

    `hand`: of the test that has the clock.
    """
    sockets = bind_broker(
        plan.listen, plan.replication.ha_listen_port, plan.more_hosts, process.passed
    )
    try:
        identity = await _identity(plan, sockets)
        if hand is None:
            opened = _opened(plan, name_servers, process, clock, identity, sockets)
        else:
            opened = _opened_again_and_again(
                plan, name_servers, process, clock, identity, sockets, hand
            )
        async with opened as running:
            yield running
    finally:
        sockets.close()


@asynccontextmanager
async def _opened_again_and_again(
    plan: ServerPlan,
    name_servers: NameServers,
    process: ProcessState,
    clock: Clock,
    identity: BrokerIdentity,
    sockets: BrokerSockets,
    hand: "Hand",
) -> AsyncIterator[RunningBroker]:
    """Whenever the test wants other files in the store. The first one's addresses are those of all."""
    from trimq.hand.renewing import renewable
    from trimq.hand.unsynced import frozen_code, unsynced

    metrics = plan.metrics

    @asynccontextmanager
    async def opens() -> AsyncIterator[RunningBroker]:
        nonlocal metrics
        again, own = replace(plan, metrics=metrics), sockets.again()
        try:
            async with _opened(again, name_servers, process, clock, identity, own, hand) as running:
                if running.metrics_addr is not None:
                    metrics = Endpoint.parse(running.metrics_addr)
                yield running
        finally:
            own.close()

    with unsynced(), frozen_code():
        async with renewable(hand, opens) as renewing:

            async def ready() -> Verdict:
                return await renewing.running.ready()

            yield replace(renewing.running, ready=ready)


@asynccontextmanager
async def _opened(
    plan: ServerPlan,
    name_servers: NameServers,
    process: ProcessState,
    clock: Clock,
    identity: BrokerIdentity,
    sockets: BrokerSockets,
    hand: "Hand | None" = None,
) -> AsyncIterator[RunningBroker]:
    """A broker on its store, which serves the sockets, and closes them."""
    await trio.to_thread.run_sync(
        refuse_databases, plan.store.root, plan.broker.leave_pending_messages
    )
    store = MessageStore(plan.store, clock.millis)
    _say_how_it_was(plan, await trio.to_thread.run_sync(_open_store, plan, store))
    try:
        await trio.to_thread.run_sync(
            refuse_pending, store, plan.store.root, plan.broker.leave_pending_messages
        )
        context = Context(plan, identity, store, clock, None if hand is None else Clock())
        broker = build_broker(context, name_servers)
        if hand is not None:
            hand.attach(context, broker)
        _say_what_was_read(store.recovery_points)
        try:
            ready = Readiness(
                identity, plan.broker.broker_role, store, broker.common.brokers.registration
            )
            async with _serving(
                plan, broker, sockets, process, ready, lasts=hand is None
            ) as metrics_addr:
                yield RunningBroker(
                    identity.address,
                    metrics_addr,
                    sockets.port,
                    broker.common.brokers.siblings,
                    ready.verdict,
                )
        finally:
            if hand is not None:
                hand.detach()
            broker.parts.close()
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(store.close)
        log.info("store closed root=%s", plan.store.root)


def _open_store(plan: ServerPlan, store: MessageStore) -> RecoveryReport:
    """Blocks: in a worker thread."""
    report = store.open(stored_queue_types(plan.store.root / "config"))
    # For those who look at the metrics before the first round of cleaning.
    store.cleaning.look_first()
    return report


def _say_how_it_was(plan: ServerPlan, report: RecoveryReport) -> None:
    """The store, when it was opened."""
    log.info(
        "store opened root=%s last_stop=%s end=%d scanned_records=%d rebuilt_entries=%d",
        plan.store.root,
        "clean" if report.clean else "not clean",
        report.end,
        report.records,
        report.entries,
    )
    if report.cut:
        log.error("the commit log ends before its checkpoint: messages are lost end=%d", report.end)
    if report.dropped:
        log.warning(
            "bytes after the last whole record removed end=%d bytes=%d", report.end, report.dropped
        )


def _say_what_was_read(points: RecoveryPoints) -> None:
    """How much of the log this start has read once more, and who needed most of it."""
    rereads = points.rereads
    if not rereads:
        # There is no log yet.
        return
    name, most = rereads[0]
    log.info(
        "read again %.1f MiB in %.0f ms from position %d because of %s",
        sum(reread.size for _, reread in rereads) / (1 << 20),
        sum(reread.seconds for _, reread in rereads) * 1000,
        most.position,
        name,
    )


async def _identity(plan: ServerPlan, sockets: BrokerSockets) -> BrokerIdentity:
    own = told = told_endpoint(plan, sockets.port)
    stored = Endpoint(address_of(own.host), own.port)
    if plan.advertise_file is not None:
        told = await AdvertiseFile(plan.advertise_file).first()
        # Who looks for a message by its id goes there. A name need not resolve here for clients to find it.
        with suppress(AddressError):
            host = await trio.to_thread.run_sync(address_of, told.host, abandon_on_cancel=True)
            stored = Endpoint(host, told.port)
    return BrokerIdentity(
        cluster=plan.broker.broker_cluster_name,
        name=plan.broker.broker_name,
        broker_id=plan.broker.broker_id,
        address=str(told),
        ha_address=str(Endpoint(plan.broker.broker_ip2 or own.host, sockets.ha_port)),
        stored=str(stored),
        zone=plan.broker.zone,
        zone_mode=plan.broker.zone_mode,
    )


@asynccontextmanager
async def _serving(
    plan: ServerPlan,
    broker: Broker,
    sockets: BrokerSockets,
    process: ProcessState,
    ready: Readiness,
    *,
    lasts: bool,
) -> AsyncIterator[str | None]:
    """Services outside, listeners inside: the last replies may still need a flush.

    `lasts`: as long as the process.
    """
    metrics_addr: str | None = None
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(trio.open_nursery())
        for name, service in broker.parts.services_of(plan.is_slave).items():
            services.start_soon(process.supervisor.keep, name, service)
        if plan.metrics is not None:
            figures = SampleCollector(partial(_samples, broker, process))
            metrics_addr = str(
                await stack.enter_async_context(
                    metrics_server(
                        plan.metrics, figures, ready=ready.verdict, passed=process.passed
                    )
                )
            )
            log.info("metrics served: address=%s", metrics_addr)
        # Listeners end first: their last replies may wait for a flush.
        stack.callback(services.cancel_scope.cancel)
        listeners = await stack.enter_async_context(trio.open_nursery())
        await _listen(plan, broker, sockets, process, listeners)
        # Registered means findable: from here on clients come.
        await services.start(
            process.supervisor.keep_started, "registration", broker.common.brokers.registration.run
        )
        await _say_who_is_missing(broker)
        if plan.advertise_file is not None:
            follow = AdvertiseFile(plan.advertise_file).follow
            services.start_soon(
                process.supervisor.keep,
                "advertise file",
                partial(follow, broker.common.brokers.registration),
            )
        if lasts:
            # And so does what is alive now.
            garbage = stack.enter_context(frozen_garbage())
            services.start_soon(
                process.supervisor.keep, "look at all garbage", partial(look_when_due, garbage)
            )
        ready.serves()
        yield metrics_addr
        ready.stops()
        with trio.CancelScope(shield=True), trio.move_on_after(_LEAVE_SECONDS):
            await broker.common.brokers.registration.leave()
        listeners.cancel_scope.cancel()


async def _say_who_is_missing(broker: Broker) -> None:
    """Ready means that clients find this broker: with a first NameServer, or after a few seconds with a warning."""
    missing = await broker.common.brokers.registration.accepted()
    if missing:
        log.warning(
            "clients of these NameServers do not find this broker yet; they are tried again twice a second: %s",
            ", ".join(missing),
        )


def _samples(broker: Broker, process: ProcessState) -> Iterator[Sample]:
    yield from broker.parts.samples()
    yield from process.samples()


async def _listen(
    plan: ServerPlan,
    broker: Broker,
    sockets: BrokerSockets,
    process: ProcessState,
    nursery: trio.Nursery,
) -> None:
    sockets.listen(slaves=plan.serves_slaves)
    limits = limits_of(plan.server)
    admission = ConnectionAdmission(limits, broker.main.counters, plan.server.balancers)
    tls = server_tls(plan.tls)
    pollers = []
    for dispatcher, socks in ((broker.main, sockets.main), (broker.vip, sockets.vip)):
        server = Server(
            dispatcher,
            listener=broker.parts,
            tls=tls,
            balancers=plan.server.balancers,
            gates=broker.gates,
            limits=limits,
            admission=admission,
            resources=process.resources,
        )
        await nursery.start(server.serve, socks)
        broker.servers.append(server)
        pollers.append(server.poller)
    if plan.serves_slaves:
        # The main listener's: producers' replies wait for what slaves report.
        for sock in sockets.ha:
            await nursery.start(broker.common.brokers.replication.master.serve, sock, pollers[0])
    else:
        # Nobody shall wait there.
        for sock in sockets.ha:
            sock.close()
        log.info("slaves are not served: haEnable=%s", plan.replication.ha_enable)
