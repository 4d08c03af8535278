"""What more than one part of a broker uses, by subject."""

from dataclasses import dataclass

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.compaction.compaction import Compaction
from trimq.broker.consume.arrivals import Arrivals
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
from trimq.broker.topics.table import Topics
from trimq.remoting.contract import Gate
from trimq.settings.running import RunningSettings
from trimq.wiring.context import Context
from trimq.wiring.parts.brokers import cluster, replication, siblings
from trimq.wiring.parts.brokers.cluster import NameServers
from trimq.wiring.parts.brokers.replication import Replication
from trimq.wiring.parts.consumers import assignment, clients
from trimq.wiring.parts.consumers.clients import Clients
from trimq.wiring.parts.features import (
    compaction,
    delays,
    elastic,
    filters,
    lite,
    timers,
    transactions,
)
from trimq.wiring.parts.features.elastic import Elastic
from trimq.wiring.parts.features.lite import Lite
from trimq.wiring.parts.features.transactions import OpenTransactions
from trimq.wiring.parts.messaging import produce, topics
from trimq.wiring.parts.messaging.produce import Sends
from trimq.wiring.parts.messaging.topics import TopicTables
from trimq.wiring.parts.operation import settings, stats
from trimq.wiring.parts.operation.requests import RequestCounters
from trimq.wiring.parts.operation.stats import Figures


@dataclass(frozen=True, slots=True)
class Messaging:
    """Topics, and messages on their way in and out. Replies to producers wait for the gate."""

    topics: TopicTables
    sends: Sends
    arrivals: Arrivals
    gate: Gate


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads: groups, the clients in them, and how far they are."""

    groups: SubscriptionGroups
    clients: Clients
    offsets: ConsumerOffsets
    modes: RequestModes


@dataclass(frozen=True, slots=True)
class Brokers:
    """Other servers, and where topics are on them."""

    others: OtherBrokers
    registration: Registration
    routes: ClusterRoutes
    replication: Replication
    siblings: Siblings | None


@dataclass(frozen=True, slots=True)
class Features:
    """What others use of a feature that a broker can be without. None: it was started without."""

    timers: WheelTimers | None
    elastic: Elastic
    filters: SqlFilters
    delays: DelayService
    transactions: OpenTransactions
    compaction: Compaction | None
    # Of POP.
    order_blocks: OrderBlocks
    in_flight: InFlight
    lite: Lite


@dataclass(frozen=True, slots=True)
class Operation:
    """What an operator sees and changes, when tables are written, and deletions that go on behind their answer."""

    requests: RequestCounters
    figures: Figures
    settings: RunningSettings
    tables: TableWriter
    detached: DetachedWork


@dataclass(frozen=True, slots=True)
class Common:
    """All of it. No part gets that: each gets what it needs."""

    messaging: Messaging
    readers: Readers
    brokers: Brokers
    features: Features
    operation: Operation


def common_to_parts(context: Context, name_servers: NameServers, others: OtherBrokers) -> Common:
    of_topics = topics.topic_tables(context, others)
    table = of_topics.table
    readers = _readers(context)
    operation = _operation(context, table)
    arrivals = Arrivals(context.config.max_held_pulls, context.clock)
    routes = assignment.cluster_routes(context, name_servers)
    # It hears of a topic before the features do.
    registered = cluster.registration(context, name_servers, table)
    features = _features(context, table, readers, arrivals, routes)
    sends = produce.sends(
        context,
        of_topics,
        readers.groups,
        readers.clients,
        operation.figures.traffic,
        features.timers,
        features.elastic.maps,
    )
    return Common(
        Messaging(of_topics, sends, arrivals, Gate(context.store.flushed_offset)),
        readers,
        Brokers(
            others,
            registered,
            routes,
            replication.replication(context, others, registered),
            siblings.siblings(context),
        ),
        features,
        operation,
    )


def _readers(context: Context) -> Readers:
    config, directory, clock = context.config, context.directory, context.clock
    has_light = context.plan.store.enable_lmq
    return Readers(
        SubscriptionGroups(config, directory, clock, has_light),
        clients.no_clients(context),
        ConsumerOffsets(config, directory, clock, has_light),
        RequestModes(directory),
    )


def _operation(context: Context, table: Topics) -> Operation:
    return Operation(
        RequestCounters(),
        stats.figures_of(context, table),
        settings.running_settings(context, table),
        TableWriter(),
        DetachedWork(),
    )


def _features(
    context: Context, table: Topics, readers: Readers, arrivals: Arrivals, routes: ClusterRoutes
) -> Features:
    groups, offsets = readers.groups, readers.offsets
    return Features(
        timers=timers.wheel_timers(context),
        elastic=elastic.elastic_topics(context, table, offsets, readers.clients, arrivals),
        filters=filters.sql_filters(context, table),
        delays=delays.delay_service(context),
        transactions=transactions.open_transactions(context),
        compaction=compaction.compaction_of(context, table),
        order_blocks=OrderBlocks(context.directory, table, groups, context.clock),
        in_flight=InFlight(context.store, context.clock),
        lite=lite.lite_topics(context, table, groups, offsets, routes),
    )
