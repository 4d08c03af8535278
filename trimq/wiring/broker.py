"""A broker: what its parts share, the list of them, and the two ports that serve it."""

from dataclasses import dataclass
from functools import partial

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.compaction.compaction import Compaction
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.consume.subscriptions import PullSubscriptions
from trimq.broker.delivery.delays import DelayService
from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.pop.checkpoints.in_flight import InFlight
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.services.siblings import Siblings
from trimq.broker.tables.writer import TableWriter
from trimq.broker.timers.service import WheelTimers
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import Awaited, Gate
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.request_log import RequestLog
from trimq.settings.running import RunningSettings
from trimq.wiring import effect_recovery
from trimq.wiring.context import Context
from trimq.wiring.part import Part, Parts
from trimq.wiring.parts.brokers import cluster, replication, siblings
from trimq.wiring.parts.brokers.cluster import NameServers
from trimq.wiring.parts.brokers.replication import Followed, Replication
from trimq.wiring.parts.consumers import assignment, clients, groups, offsets, progress
from trimq.wiring.parts.consumers.clients import Clients
from trimq.wiring.parts.features import (
    compaction,
    delays,
    elastic,
    filters,
    lite,
    pop,
    timers,
    transactions,
)
from trimq.wiring.parts.features.elastic import Elastic
from trimq.wiring.parts.features.lite import Lite
from trimq.wiring.parts.messaging import consume, messages, produce, topics
from trimq.wiring.parts.messaging.produce import Sends
from trimq.wiring.parts.messaging.topics import TopicTables
from trimq.wiring.parts.operation import requests, settings, stats
from trimq.wiring.parts.operation.requests import RequestCounters
from trimq.wiring.parts.operation.stats import Figures
from trimq.wiring.parts.storage import log, retention, tables
from trimq.wiring.unsupported import UNSUPPORTED


@dataclass(frozen=True, slots=True)
class Common:
    """What more than one part uses. No part gets all of it: each gets what it needs."""

    gate: Gate
    requests: RequestCounters
    tables: TableWriter
    others: OtherBrokers
    topics: TopicTables
    registration: Registration
    groups: SubscriptionGroups
    clients: Clients
    filters: SqlFilters
    offsets: ConsumerOffsets
    arrivals: Arrivals
    elastic: Elastic
    delays: DelayService
    timers: WheelTimers | None
    compaction: Compaction | None
    figures: Figures
    sends: Sends
    order_blocks: OrderBlocks
    in_flight: InFlight
    replication: Replication
    siblings: Siblings | None
    modes: RequestModes
    routes: ClusterRoutes
    lite: Lite
    detached: DetachedWork
    settings: RunningSettings


def common_to_parts(context: Context, name_servers: NameServers, others: OtherBrokers) -> Common:
    of_topics = topics.topic_tables(context, others)
    has_light = context.plan.store.enable_lmq
    of_groups = SubscriptionGroups(context.config, context.directory, context.clock, has_light)
    of_clients = clients.no_clients(context)
    of_figures = stats.figures_of(context, of_topics.table)
    of_timers = timers.wheel_timers(context)
    offset = ConsumerOffsets(context.config, context.directory, context.clock, has_light)
    arrivals = Arrivals(context.config.max_held_pulls)
    of_elastic = elastic.elastic_topics(context, of_topics.table, offset, of_clients, arrivals)
    routes = assignment.cluster_routes(context, name_servers)
    registered = cluster.registration(context, name_servers, of_topics.table)
    return Common(
        gate=Gate(context.store.flushed_offset),
        requests=RequestCounters(),
        tables=TableWriter(),
        others=others,
        topics=of_topics,
        registration=registered,
        groups=of_groups,
        clients=of_clients,
        filters=filters.sql_filters(context, of_topics.table),
        offsets=offset,
        arrivals=arrivals,
        elastic=of_elastic,
        delays=delays.delay_service(context),
        timers=of_timers,
        compaction=compaction.compaction_of(context, of_topics.table),
        figures=of_figures,
        sends=produce.sends(
            context,
            of_topics,
            of_groups,
            of_clients,
            of_figures.traffic,
            of_timers,
            of_elastic.maps,
        ),
        replication=replication.replication(context, others, registered),
        siblings=siblings.siblings(context),
        order_blocks=OrderBlocks(context.directory, of_topics.table, of_groups, context.clock),
        in_flight=InFlight(context.store, context.clock),
        modes=RequestModes(context.directory),
        routes=routes,
        lite=lite.lite_topics(context, of_topics.table, of_groups, offset, routes),
        detached=DetachedWork(),
        settings=settings.running_settings(context, of_topics.table),
    )


def broker_parts(context: Context, common: Common) -> list[Part]:
    """In the order of trimq/wiring/part.py.

    Tables go to their files before messages do. Parts that refer to topics are loaded after them,
    and those that refer to groups after these. A pull that waits for a message is woken before the
    message is counted.
    """
    parts = [
        *_who_and_where(context, common),
        *_messages_in_and_out(context, common),
        *_upkeep_and_cluster(context, common),
    ]
    return [*parts, effect_recovery.part(context.store, parts)]


def _who_and_where(context: Context, common: Common) -> list[Part]:
    """Topics, groups, clients, and how far groups have read."""
    topic, group, offset = common.topics.table, common.groups, common.offsets
    consumers = common.clients.consumers
    return [
        requests.part(common.requests),
        tables.part(common.tables, common.registration),
        log.part(context, common.gate),
        topics.part(
            context,
            topic,
            common.tables,
            common.registration,
            offset,
            common.figures,
            topics.Holders(common.timers, common.order_blocks, common.lite.life),
            common.detached,
        ),
        groups.part(
            context,
            group,
            common.tables,
            topic,
            offset,
            common.figures,
            groups.Deleting(
                [
                    common.order_blocks,
                    common.lite.batches,
                    common.lite.subscriptions,
                    common.lite.lags,
                    common.elastic.groups,
                    common.modes,
                    common.in_flight,
                ],
                common.detached,
            ),
            common.modes,
        ),
        clients.part(
            context,
            common.clients,
            topic,
            group,
            offset,
            common.filters,
            common.elastic.groups,
        ),
        filters.part(context, common.filters, consumers),
        offsets.part(context, offset, common.topics, group, consumers, common.elastic),
        progress.part(context, topic, group, consumers, offset, common.figures),
    ]


def _messages_in_and_out(context: Context, common: Common) -> list[Part]:
    """Sends, pulls and pops, and what makes messages come later."""
    topic, group, offset = common.topics.table, common.groups, common.offsets
    consumers, traffic = common.clients.consumers, common.figures.traffic
    subscriptions = PullSubscriptions(
        context.config, group, consumers, common.filters, context.clock
    )
    return [
        produce.part(context, common.sends),
        transactions.part(
            context,
            common.sends,
            topic,
            offset,
            common.clients.producers,
            common.elastic.maps,
        ),
        consume.part(
            context,
            common.arrivals,
            common.topics,
            group,
            offset,
            traffic,
            subscriptions,
            consume.Kept(common.compaction, common.elastic),
        ),
        elastic.part(
            context,
            common.elastic,
            elastic.Around(topic, offset, common.clients, common.registration, common.routes),
        ),
        messages.part(context, consumers, common.filters.table),
        delays.part(common.delays, common.elastic.maps, traffic),
        timers.part(context, common.timers, common.sends, topic, common.elastic.maps),
        pop.part(
            context,
            common.sends,
            topic,
            group,
            consumers,
            common.filters,
            pop.Kept(
                offset,
                common.order_blocks,
                common.timers,
                common.lite.acking,
                common.lite.news,
                common.elastic,
                common.in_flight,
            ),
            traffic,
        ),
        assignment.part(context, common.routes, common.modes, consumers),
    ]


def _upkeep_and_cluster(context: Context, common: Common) -> list[Part]:
    topic, group, offset = common.topics.table, common.groups, common.offsets
    traffic = common.figures.traffic
    return [
        compaction.part(common.compaction),
        siblings.part(common.siblings, topic, group),
        retention.part(context, common.topics, offset, common.timers),
        cluster.part(common.others),
        replication.part(
            context,
            common.replication,
            common.others,
            Followed(common.topics, group, offset, common.delays, common.modes, common.timers),
        ),
        lite.part(context, common.lite, topic, group, offset, traffic),
        settings.part(common.settings),
        stats.part(context, common.figures, common.delays, common.timers),
    ]


@dataclass(frozen=True, slots=True)
class Broker:
    """Everything that runs. ``parts`` are also the listener of its connections."""

    common: Common
    parts: Parts
    main: Dispatcher
    vip: Dispatcher
    gates: tuple[Awaited, ...]


def build_broker(context: Context, name_servers: NameServers) -> Broker:
    """Build on an open store; config files are read here."""
    others = cluster.other_brokers(context, name_servers)
    common = common_to_parts(context, name_servers, others)
    return assembled(context, common, broker_parts(context, common))


def assembled(context: Context, common: Common, list_of_parts: list[Part]) -> Broker:
    """The parts, loaded and connected with the store, the settings and both ports."""
    parts = Parts(list_of_parts)
    parts.load()
    parts.listen_to(context.store)
    common.settings.add_listener(parts.heed_settings)
    end_terms_with_cuts(context, common)
    why_not = {int(code): why for code, why in UNSUPPORTED.items()}
    dispatcher = partial(
        Dispatcher,
        end_of_receive=parts.end_of_receive,
        on_request=common.requests.count,
        counters=common.requests.remoting,
        held_replies=common.registration.held_replies,
    )
    return Broker(
        common,
        parts,
        main=dispatcher(parts.processors, request_log=RequestLog("broker", why_not)),
        vip=dispatcher(parts.vip_processors, request_log=RequestLog("broker's VIP port", why_not)),
        gates=awaited_by_replies(context, common),
    )


def end_terms_with_cuts(context: Context, common: Common) -> None:
    """Replies that wait for what is cut off the log must not take for theirs what comes in its place."""

    def ended(end: int) -> None:
        common.gate.end_term(min(context.store.flushed_offset, end))
        common.replication.slaves.end_term(0)

    context.store.add_cut_listener(ended)


def awaited_by_replies(context: Context, common: Common) -> tuple[Awaited, ...]:
    """What a reply to a producer that wants its message to be safe waits for, side by side."""
    plan = context.plan
    disk = Awaited(
        common.gate, plan.store.sync_flush_timeout / 1000, ResponseCode.FLUSH_DISK_TIMEOUT
    )
    slaves = Awaited(
        common.replication.slaves.copied,
        plan.replication.slave_timeout / 1000,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    )
    gates = ((disk, plan.waits_for_disk), (slaves, plan.waits_for_slaves))
    return tuple(gate for gate, is_wanted in gates if is_wanted)
