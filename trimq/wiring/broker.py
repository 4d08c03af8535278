"""A broker: the list of its parts, and the two ports that serve it."""

from dataclasses import dataclass, field
from functools import partial

from trimq.broker.consume.subscriptions import PullSubscriptions
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import Awaited
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.request_log import RequestLog
from trimq.remoting.serving.server import Server
from trimq.wiring import effect_recovery
from trimq.wiring.common import Common, common_to_parts
from trimq.wiring.context import Context
from trimq.wiring.part import Part, Parts
from trimq.wiring.parts.brokers import cluster, replication, siblings
from trimq.wiring.parts.brokers.cluster import NameServers
from trimq.wiring.parts.brokers.replication import Followed
from trimq.wiring.parts.consumers import assignment, clients, groups, offsets, progress
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
from trimq.wiring.parts.messaging import consume, messages, produce, topics
from trimq.wiring.parts.operation import requests, settings, stats
from trimq.wiring.parts.storage import log, retention, tables
from trimq.wiring.unsupported import UNSUPPORTED


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
    readers, features, operation = common.readers, common.features, common.operation
    topic, registration = common.messaging.topics.table, common.brokers.registration
    group, offset, consumers = readers.groups, readers.offsets, readers.clients.consumers
    of_elastic, ordered, of_lite = features.elastic, features.order_blocks, features.lite
    figures, writer, detached = operation.figures, operation.tables, operation.detached
    of_topics = topics.Holders(features.timers, ordered, of_lite.life)
    of_groups = groups.Deleting(
        [
            ordered,
            of_lite.batches,
            of_lite.subscriptions,
            of_lite.lags,
            of_elastic.groups,
            readers.modes,
            features.in_flight,
        ],
        detached,
    )
    return [
        requests.part(operation.requests),
        tables.part(writer, registration),
        log.part(context, common.messaging.gate),
        topics.part(context, topic, writer, registration, offset, figures, of_topics, detached),
        groups.part(context, group, writer, topic, offset, figures, of_groups, readers.modes),
        clients.part(
            context, readers.clients, topic, group, offset, features.filters, of_elastic.groups
        ),
        filters.part(context, features.filters, consumers),
        offsets.part(context, offset, common.messaging.topics, group, consumers, of_elastic),
        progress.part(context, topic, group, consumers, offset, figures),
    ]


def _messages_in_and_out(context: Context, common: Common) -> list[Part]:
    """Sends, pulls and pops, and what makes messages come later."""
    messaging, readers, features = common.messaging, common.readers, common.features
    topic, sends, traffic = (
        messaging.topics.table,
        messaging.sends,
        common.operation.figures.traffic,
    )
    group, offset, consumers = readers.groups, readers.offsets, readers.clients.consumers
    sql, of_elastic, of_lite = features.filters, features.elastic, features.lite
    registration, routes = common.brokers.registration, common.brokers.routes
    subscriptions = PullSubscriptions(context.config, group, consumers, sql, context.real_clock)
    pulled = consume.Kept(features.compaction, of_elastic)
    popped = pop.Kept(
        offset,
        features.order_blocks,
        features.timers,
        of_lite.acking,
        of_lite.news,
        of_elastic,
        features.in_flight,
    )
    around = elastic.Around(topic, offset, readers.clients, registration, routes)
    return [
        produce.part(context, sends),
        transactions.part(
            context,
            features.transactions,
            sends,
            topic,
            offset,
            readers.clients.producers,
            of_elastic.maps,
        ),
        consume.part(
            context,
            messaging.arrivals,
            messaging.topics,
            group,
            offset,
            traffic,
            subscriptions,
            pulled,
        ),
        elastic.part(context, of_elastic, around),
        messages.part(context, consumers, sql.table),
        delays.part(features.delays, of_elastic.maps, traffic),
        timers.part(context, features.timers, sends, topic, of_elastic.maps),
        pop.part(context, sends, topic, group, consumers, sql, popped, traffic),
        assignment.part(context, routes, readers.modes, consumers),
    ]


def _upkeep_and_cluster(context: Context, common: Common) -> list[Part]:
    brokers, readers, features = common.brokers, common.readers, common.features
    tables_of_topics, figures = common.messaging.topics, common.operation.figures
    topic, group, offset = tables_of_topics.table, readers.groups, readers.offsets
    followed = Followed(
        tables_of_topics, group, offset, features.delays, readers.modes, features.timers
    )
    return [
        compaction.part(features.compaction),
        siblings.part(brokers.siblings, topic, group),
        retention.part(context, tables_of_topics, offset, features.timers),
        cluster.part(brokers.others),
        replication.part(context, brokers.replication, brokers.others, followed),
        lite.part(context, features.lite, topic, group, offset, figures.traffic),
        settings.part(context, common.operation.settings, brokers.registration),
        stats.part(context, figures, features.delays, features.timers),
    ]


@dataclass(frozen=True, slots=True)
class Broker:
    """Everything that runs. ``parts`` are also the listener of its connections.

    ``servers`` have these, from when the broker listens.
    """

    common: Common
    parts: Parts
    main: Dispatcher
    vip: Dispatcher
    gates: tuple[Awaited, ...]
    servers: list[Server] = field(default_factory=list)


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
    common.operation.settings.add_listener(parts.heed_settings)
    end_terms_with_cuts(context, common)
    why_not = {int(code): why for code, why in UNSUPPORTED.items()}
    dispatcher = partial(
        Dispatcher,
        end_of_receive=parts.end_of_receive,
        on_request=common.operation.requests.count,
        counters=common.operation.requests.remoting,
        held_replies=common.brokers.registration.held_replies,
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
        common.messaging.gate.end_term(min(context.store.flushed_offset, end))
        common.brokers.replication.slaves.end_term(0)

    context.store.add_cut_listener(ended)


def awaited_by_replies(context: Context, common: Common) -> tuple[Awaited, ...]:
    """What a reply to a producer that wants its message to be safe waits for, side by side."""
    plan = context.plan
    disk = Awaited(
        common.messaging.gate, plan.store.sync_flush_timeout / 1000, ResponseCode.FLUSH_DISK_TIMEOUT
    )
    slaves = Awaited(
        common.brokers.replication.slaves.copied,
        plan.replication.slave_timeout / 1000,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    )
    gates = ((disk, plan.waits_for_disk), (slaves, plan.waits_for_slaves))
    return tuple(gate for gate, is_wanted in gates if is_wanted)
