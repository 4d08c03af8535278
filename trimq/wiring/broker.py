"""A broker's parts, built in one place: state, processors, listeners, services."""

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from trimq import housekeeping, services
from trimq.broker.arrivals import Arrivals
from trimq.broker.clock import Clock
from trimq.broker.config import NEVER_AT_RUN_TIME
from trimq.broker.consumers import Consumers
from trimq.broker.delays import DelayService
from trimq.broker.identity import BrokerIdentity
from trimq.broker.offsets import ConsumerOffsets
from trimq.broker.other_brokers import OtherBrokers
from trimq.broker.part_cleaning import PartCleaning
from trimq.broker.producers import Producers
from trimq.broker.puts import put_answer
from trimq.broker.queue_locks import QueueLocks
from trimq.broker.registration import Registration
from trimq.broker.request_modes import RequestModes
from trimq.broker.static_queues import StaticQueues
from trimq.broker.stats import PERIODS, BrokerStats
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.table_writer import TableWriter
from trimq.broker.topics import Topics, has_batch_queues
from trimq.broker.traffic import Traffic
from trimq.codec.bodies.route import QueueData
from trimq.codec.bodies.topics import TopicConfig
from trimq.metrics import Sample
from trimq.options import ServerPlan
from trimq.remoting.contract import ConnectionListener, Gate, Peer, RemotingError
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.dispatch import Dispatcher
from trimq.remoting.request_log import RequestLog
from trimq.running_settings import RunningSettings
from trimq.samples import RequestCounters, broker_samples
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.supervision import Service
from trimq.tls import name_server_context
from trimq.unsupported import UNSUPPORTED
from trimq.wiring.processors import on_main_port_only, processors

log = logging.getLogger("trimq.server")

TellLocal = Callable[[str, list[QueueData]], None]


@dataclass(frozen=True, slots=True)
class State:
    """What the broker knows; each object has one owner, this one, and its own file."""

    topics: Topics
    tables: TableWriter
    static: StaticQueues
    others: OtherBrokers
    groups: SubscriptionGroups
    modes: RequestModes
    consumers: Consumers
    producers: Producers
    offsets: ConsumerOffsets
    locks: QueueLocks
    arrivals: Arrivals
    delays: DelayService
    store: MessageStore
    registration: Registration
    traffic: Traffic
    stats: BrokerStats
    settings: RunningSettings


@dataclass(frozen=True, slots=True)
class Broker:
    """Everything that runs; ``services`` by the names that logs and metrics show.

    ``persist`` writes every config file and blocks: for the shutdown.
    """

    state: State
    main: Dispatcher
    vip: Dispatcher
    listener: ConnectionListener
    gate: Gate
    services: Mapping[str, Service]
    requests: RequestCounters = field(default_factory=RequestCounters)

    def persist(self) -> None:
        self.state.topics.close()
        self.state.groups.close()
        self.state.modes.close()
        self.state.offsets.persist()
        self.state.delays.close()

    def samples(self) -> Iterable[Sample]:
        """One scrape of /metrics."""
        return broker_samples(self)


class Clients:
    """Consumers and producers go with their connections."""

    def __init__(self, consumers: Consumers, producers: Producers) -> None:
        self._consumers = consumers
        self._producers = producers

    def opened(self, peer: Peer) -> None:
        """A client is known by its heartbeat, not by its connection."""

    def closed(self, peer: Peer) -> None:
        self._consumers.closed(peer)
        self._producers.closed(peer)


def build_broker(
    plan: ServerPlan,
    identity: BrokerIdentity,
    store: MessageStore,
    clock: Clock,
    name_servers: Sequence[str],
    tell_local: TellLocal | None = None,
) -> Broker:
    """Build on an open store; config files are read here."""
    state = build_state(plan, identity, store, clock, name_servers, tell_local)
    gate = Gate(store.flushed_offset)
    requests = RequestCounters()
    table = processors(plan, identity, state, clock)
    counters = RemotingCounters()
    dispatcher = partial(
        Dispatcher,
        end_of_receive=partial(_end_receive, state.tables, store, plan.store),
        on_request=requests.count,
        counters=counters,
        holdback=state.registration.holdback,
    )
    why_not = {int(code): why for code, why in UNSUPPORTED.items()}
    return Broker(
        state=state,
        main=dispatcher(table, request_log=RequestLog("broker", why_not)),
        vip=dispatcher(
            [one for one in table if not on_main_port_only(one)],
            request_log=RequestLog("broker's VIP port", why_not),
        ),
        listener=Clients(state.consumers, state.producers),
        gate=gate,
        services=_services(plan, state, gate),
        requests=requests,
    )


def _end_receive(tables: TableWriter, store: MessageStore, config: StoreConfig) -> None:
    """Write what it changed; a failing log answers every send of it as the real broker would."""
    tables.end_of_receive()
    try:
        store.write_staged()
    except StoreError as error:
        log.error("messages not stored: reason=%s", error)
        code, remark = put_answer(error, config, store.disk_use)
        raise RemotingError(code, remark) from error


def build_state(
    plan: ServerPlan,
    identity: BrokerIdentity,
    store: MessageStore,
    clock: Clock,
    name_servers: Sequence[str] = (),
    tell_local: TellLocal | None = None,
) -> State:
    """The managers with what their files say."""
    config, directory = plan.broker, plan.store.root / "config"
    topics = Topics(config, directory, clock)
    traffic = Traffic(topics.is_system_topic)
    tls = name_server_context(plan.tls)
    others = OtherBrokers(config, name_servers, tls)
    tables = TableWriter()
    state = State(
        topics=topics,
        tables=tables,
        static=StaticQueues(topics.mappings, others),
        others=others,
        groups=SubscriptionGroups(config, directory, clock),
        modes=RequestModes(directory),
        consumers=Consumers(config, clock),
        producers=Producers(config, clock),
        offsets=ConsumerOffsets(config, directory, clock),
        locks=QueueLocks(clock, config=config),
        arrivals=Arrivals(config.max_held_pulls),
        delays=DelayService(config, store, plan.store.delay_levels, directory, clock),
        store=store,
        registration=Registration(config, identity, topics, name_servers, tell_local, tls),
        traffic=traffic,
        stats=BrokerStats(config.broker_cluster_name, traffic, clock),
        settings=_settings(plan, identity, topics, clock),
    )
    tables.hold_replies_with(state.registration.holdback)
    state.topics.write_by(tables)
    state.groups.write_by(tables)
    state.topics.load()
    state.groups.load()
    state.modes.load()
    state.offsets.load()
    state.delays.load()
    state.topics.add_listener(partial(_tell_queue_type, store))
    state.settings.add_listener(store.heed_settings)
    store.add_listener(state.arrivals.arrived)
    store.add_listener(state.delays.arrived)
    store.add_listener(traffic.stored)
    return state


def _settings(
    plan: ServerPlan, identity: BrokerIdentity, topics: Topics, clock: Clock
) -> RunningSettings:
    sources = dataclasses.replace(plan.sources, shown=_found_out(plan, identity))
    never = NEVER_AT_RUN_TIME | set(plan.broker.config_black_list.split(";"))
    configs = (plan.broker, plan.store, plan.server, plan.tls)
    settings = RunningSettings(configs, sources, clock, never)
    settings.when_given("brokerPermission", topics.told_anew)
    return settings


def _found_out(plan: ServerPlan, identity: BrokerIdentity) -> dict[str, str]:
    """Settings whose value comes from flags, or is known only when the broker listens."""
    host, _, port = identity.address.rpartition(":")
    return {
        "listenPort": port,
        "brokerIP1": host,
        "storePathRootDir": str(plan.store.root),
        "storePathCommitLog": ",".join(map(str, plan.store.commit_logs)),
    }


def _tell_queue_type(store: MessageStore, topic: TopicConfig) -> None:
    """A topic's type is settled when it is made; those in the file the store knows already."""
    if has_batch_queues(topic):
        store.declare_batch_topic(topic.topic_name)


def _services(plan: ServerPlan, state: State, gate: Gate) -> dict[str, Service]:
    flush: Any = (
        services.flush_on_demand
        if plan.store.flush_disk_type == "SYNC_FLUSH"
        else services.flush_by_interval
    )
    offsets_every = plan.broker.flush_consumer_offset_interval / 1000
    settle = partial(partial, services.every_async, services.SETTLE_SECONDS)
    scan = partial(partial, services.every, services.SCAN_SECONDS)
    return {
        "flush": partial(flush, state.store, gate, plan.store),
        "write derived files": partial(services.write_derived, state.store, plan.store),
        "delete old files": partial(housekeeping.delete_old_files, state.store, plan.store),
        "write tables": state.tables.run,
        "write offsets": partial(
            services.every_async, offsets_every, state.offsets.persist_in_steps
        ),
        "settle topics": settle(state.topics.settle),
        "settle groups": settle(state.groups.settle),
        "settle request modes": settle(state.modes.settle),
        "scan consumers": scan(state.consumers.scan_expired),
        "scan producers": scan(state.producers.scan_expired),
        "forget expired locks": partial(
            services.every_async, services.SCAN_SECONDS, state.locks.forget_expired
        ),
        "send waiting notices": partial(
            services.every, services.NOTICE_SECONDS, state.consumers.send_waiting_notices
        ),
        "tick statistics": partial(services.every, 1, state.stats.tick),
        **{
            f"sample statistics every {period.millis // 1000} s": partial(
                services.every_async, period.millis / 1000, partial(state.stats.sample, period)
            )
            for period in PERIODS
        },
        "deliver delayed messages": state.delays.run,
        "connections to other brokers": state.others.run,
        "clean parts": partial(
            housekeeping.clean_parts,
            state.store.cleaning,
            PartCleaning(state.topics.mappings, state.static, state.store),
        ),
    }
