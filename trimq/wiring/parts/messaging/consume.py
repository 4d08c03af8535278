"""Pulling messages, and waiting for them."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from trimq.broker.compaction.compaction import Compaction
from trimq.broker.config import corrects_offsets
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.consume.broadcast_offsets import SCAN_SECONDS, BroadcastOffsets
from trimq.broker.consume.checks import PullChecks
from trimq.broker.consume.elastic_pulls import ElasticPulls
from trimq.broker.consume.pulling import Pulling
from trimq.broker.consume.subscriptions import PullSubscriptions
from trimq.broker.consume.topic_kinds import TopicKinds
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services import background as services
from trimq.broker.stats.traffic import Traffic
from trimq.processors.consume.lite_pull_message import LitePullMessage
from trimq.processors.consume.pull_message import PullMessage
from trimq.processors.consume.refuse_pulls import RefusePulls
from trimq.remoting.contract import Processor
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.features.elastic import Elastic
from trimq.wiring.parts.messaging.topics import TopicTables


@dataclass(frozen=True, slots=True)
class Kept:
    """Topics that are read otherwise."""

    compaction: Compaction | None
    elastic: Elastic


def part(
    context: Context,
    arrivals: Arrivals,
    topics: TopicTables,
    groups: SubscriptionGroups,
    offsets: ConsumerOffsets,
    traffic: Traffic,
    subscriptions: PullSubscriptions,
    kept: Kept,
) -> Part:
    config, table, static = context.config, topics.table, topics.static
    checks = PullChecks(config, context.identity, table, groups, subscriptions, static)
    of_elastic = kept.elastic
    elastic = ElasticPulls(
        table.partitions, of_elastic.groups, of_elastic.commits, of_elastic.gates
    )
    kinds = TopicKinds(static, kept.compaction, elastic)
    pulling = Pulling(config, checks, offsets, context.store, arrivals, traffic, kinds)
    broadcasts = pulling.broadcasts = BroadcastOffsets(
        config, subscriptions.consumers, offsets, context.real_clock
    )

    async def commit_broadcasts() -> None:
        for _ in broadcasts.scan():
            await trio.lowlevel.checkpoint()

    pulls: list[Processor[Any]] = [PullMessage(pulling), LitePullMessage(pulling)]
    # A pull that waits has to be told its new offset.
    offsets.add_reset_listener(
        lambda group, topic, queue_id, offset: arrivals.wake(topic, queue_id)
    )
    context.store.correct_if(partial(corrects_offsets, config))
    if context.plan.is_slave and not config.slave_read_enable:
        pulls = [RefusePulls()]
    return Part(
        name="consume",
        # BrokerController.registerProcessor: the fast remoting server has no pulls.
        main_port_only=pulls,
        services={
            "ask filters of waiting pulls": arrivals.ask_later,
            "commit offsets of broadcasting groups": partial(
                services.every_async, SCAN_SECONDS, commit_broadcasts
            ),
        },
        stored=arrivals.arrived,
        waits={"pull": arrivals},
    )
