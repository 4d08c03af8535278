"""Lite topics: subscriptions, news for clients, popping, and their life."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.lite.acknowledgements import LiteAcknowledgements
from trimq.broker.lite.checks import LiteChecks
from trimq.broker.lite.consumer_lag import LiteConsumerLag
from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.lifecycle import LiteLifecycle
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.notification import LiteNotification
from trimq.broker.lite.offset_resets import LiteOffsetResets
from trimq.broker.lite.popping import LitePopping, Progress, wake_client
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.lite.sharding import LiteSharding
from trimq.broker.lite.unsubscribe_notices import UnsubscribeNotices
from trimq.broker.pop.checkpoints.offsets import PopOffsets
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.broker.stats.traffic import Traffic
from trimq.broker.steps import in_steps
from trimq.broker.topics.table import Topics
from trimq.process.metrics import Sample
from trimq.processors.lite.get_broker_lite_info import GetBrokerLiteInfo
from trimq.processors.lite.get_lite_client_info import GetLiteClientInfo
from trimq.processors.lite.get_lite_group_info import GetLiteGroupInfo
from trimq.processors.lite.get_lite_topic_info import GetLiteTopicInfo
from trimq.processors.lite.get_parent_topic_info import GetParentTopicInfo
from trimq.processors.lite.lite_subscription_ctl import LiteSubscriptionCtl
from trimq.processors.lite.pop_lite_message import PopLiteMessage
from trimq.processors.lite.trigger_lite_dispatch import TriggerLiteDispatch
from trimq.store.messages.message import Dispatched
from trimq.wiring.context import Context
from trimq.wiring.part import Part

_CLEAN_SECONDS: Final = 300
_UNUSED_MILLIS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Lite:
    """What lite topics consist of; other parts acknowledge their messages and delete them with their topic."""

    metadata: LiteMetadata
    subscriptions: LiteSubscriptions
    clients: UnsubscribeNotices
    events: LiteEvents
    news: LiteNotification
    waits: PopLongPolling
    batches: OrderedBlocks
    block_timeouts: BlockTimeouts
    lags: LiteConsumerLag
    acking: LiteAcknowledgements
    life: LiteLifecycle
    sharding: LiteSharding


def lite_topics(
    context: Context,
    topics: Topics,
    groups: SubscriptionGroups,
    offsets: ConsumerOffsets,
    routes: ClusterRoutes,
) -> Lite:
    config, store, clock = context.config, context.store, context.clock
    metadata = LiteMetadata(config, topics, groups)
    subscriptions = LiteSubscriptions(config, metadata, context.real_clock)
    waits, told = PopLongPolling(config, clock), PopLongPolling(config, clock)
    batches, clients = OrderedBlocks(clock), UnsubscribeNotices()

    def wake(client_id: str) -> None:
        wake_client(waits, client_id)
        wake_client(told, client_id)

    def is_closed(queue: str, group: str) -> bool:
        if offsets.has_reset(group, queue, 0) and offsets.keeps_resets(queue):
            return False
        return batches.free_at(OrderedQueue(queue, group, 0)) is not None

    # Which clients are idle is a matter of their time.
    events = LiteEvents(
        config, metadata, subscriptions, offsets, store, wake, is_closed, context.real_clock
    )

    def moved(group: str, queue: str, queue_id: int, offset: int) -> None:
        if queue_id == 0 and offset < store.max_offset(queue, 0):
            events.available(queue, group)

    offsets.add_reset_listener(moved)

    def opened(queue: OrderedQueue) -> None:
        events.available(queue.topic, queue.group)

    block_timeouts = BlockTimeouts(batches, opened, clock)
    life = LiteLifecycle(config, metadata, subscriptions, offsets, batches, store, clock)
    # Whoever is told or moved by a subscription, before there is news for it.
    for listener in (clients, LiteOffsetResets(offsets, batches, store), events):
        subscriptions.add_listener(listener)
    return Lite(
        metadata=metadata,
        subscriptions=subscriptions,
        clients=clients,
        events=events,
        news=LiteNotification(events, told),
        waits=waits,
        batches=batches,
        block_timeouts=block_timeouts,
        lags=LiteConsumerLag(config, offsets, store),
        acking=LiteAcknowledgements(
            metadata, offsets, batches, block_timeouts, events, store, clock
        ),
        life=life,
        sharding=LiteSharding(context.identity, routes.writable_queues, life.exists),
    )


def part(
    context: Context,
    lite: Lite,
    topics: Topics,
    groups: SubscriptionGroups,
    offsets: ConsumerOffsets,
    traffic: Traffic,
) -> Part:
    config, store, clock = context.config, context.store, context.clock
    metadata, subscriptions, events = lite.metadata, lite.subscriptions, lite.events
    positions = PopOffsets(config, offsets, store, lite.batches)
    progress = Progress(positions, lite.batches, lite.block_timeouts, lite.lags)
    lite.acking.counted = traffic.acknowledged
    popping = LitePopping(subscriptions, events, lite.waits, progress, store, traffic)
    checks = LiteChecks(config, context.identity, topics, groups, clock)

    def stored(messages: list[Dispatched]) -> None:
        for message in messages:
            if message.light_queues:
                for queue, _ in message.light_queues:
                    events.arrived(queue)

    return Part(
        name="lite",
        processors=[
            LiteSubscriptionCtl(metadata, subscriptions, lite.sharding, lite.clients),
            GetBrokerLiteInfo(
                metadata,
                subscriptions,
                events,
                lite.batches,
                offsets,
                store,
                context.plan.store,
            ),
            GetParentTopicInfo(metadata, lite.life, store),
            GetLiteTopicInfo(metadata, subscriptions, lite.sharding, store),
            GetLiteClientInfo(metadata, subscriptions, events),
            GetLiteGroupInfo(metadata, lite.lags, offsets, store),
            TriggerLiteDispatch(metadata, events),
        ],
        main_port_only=[PopLiteMessage(checks, popping)],
        services=_services(context, lite),
        stored=stored,
        connections=lite.clients,
        samples=partial(_samples, lite),
        waits={"lite_pop": lite.waits, "lite_notification": lite.news.waits},
    )


def _services(context: Context, lite: Lite) -> dict[str, Callable[[], Awaitable[None]]]:
    config, clock = context.config, context.clock

    async def forget_silent() -> None:
        while True:
            await trio.sleep(config.lite_subscription_check_interval / 1000)
            await in_steps(lite.subscriptions.remove_silent())

    async def forget_unused() -> None:
        while True:
            await trio.sleep(_CLEAN_SECONDS)
            await in_steps(lite.batches.forget_unused(clock.millis() - _UNUSED_MILLIS))

    return {
        "tell lite clients": lite.events.run,
        "forget silent lite clients": forget_silent,
        "open the blocks of lite topics": lite.block_timeouts.run,
        "forget unused blocks of lite topics": forget_unused,
        "delete expired lite topics": lite.life.run,
    }


def _samples(lite: Lite) -> Iterator[Sample]:
    yield Sample(
        "trimq_lite_subscriptions",
        "Subscriptions of clients to lite topics.",
        "gauge",
        lite.subscriptions.count,
    )
    yield Sample("trimq_lite_waiting", "Lite pops that wait.", "gauge", lite.waits.waiting)
    yield Sample(
        "trimq_lite_clients", "Clients with news of lite topics.", "gauge", len(lite.events)
    )
