"""POP: handing out messages, acknowledgements, and putting back what nobody acknowledged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.lite.acknowledgements import LiteAcknowledgements
from trimq.broker.lite.notification import LiteNotification
from trimq.broker.pop.acknowledgements import Acknowledgements
from trimq.broker.pop.checkpoints.in_flight import InFlight
from trimq.broker.pop.checkpoints.notes import Notes
from trimq.broker.pop.checkpoints.offsets import PopOffsets
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.pop.order.orderly import Orderly
from trimq.broker.pop.peek import Peek
from trimq.broker.pop.popping import Popping
from trimq.broker.pop.reading.checks import PopChecks
from trimq.broker.pop.reading.elastic_pops import ElasticPops
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.broker.pop.revive.retry import ReviveRetry
from trimq.broker.pop.revive.service import Reviving
from trimq.broker.services import background as services
from trimq.broker.stats.traffic import Traffic
from trimq.broker.timers.service import WheelTimers
from trimq.broker.topics.table import Topics
from trimq.codec.pop.handle import normal_topic
from trimq.process.metrics import Sample
from trimq.processors.pop.ack_message import AckMessage
from trimq.processors.pop.batch_ack_message import BatchAckMessage
from trimq.processors.pop.change_message_invisible_time import ChangeMessageInvisibleTime
from trimq.processors.pop.notification import Notification
from trimq.processors.pop.peek_message import PeekMessage
from trimq.processors.pop.polling_info import PollingInfo
from trimq.processors.pop.pop_message import PopMessage
from trimq.processors.pop.pop_rollback import PopRollback
from trimq.store.messages.message import Dispatched
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.features.elastic import Elastic
from trimq.wiring.parts.messaging.produce import Sends

_ALL_QUEUES = -1


@dataclass(frozen=True, slots=True)
class Kept:
    """Where groups are in their queues, what orderly pops wait for, and the wheel that notes wait on."""

    offsets: ConsumerOffsets
    blocks: OrderBlocks
    timers: WheelTimers | None
    # Who takes acknowledgements of lite topics, and who knows of news in them.
    lite: LiteAcknowledgements
    lite_news: LiteNotification
    elastic: Elastic
    in_flight: InFlight


@dataclass(frozen=True, slots=True)
class _Pop:
    """What there is to POP, once it has been put together. `told`: who asked to be told of messages."""

    topics: Topics
    groups: SubscriptionGroups
    notes: Notes
    in_flight: InFlight
    popped: PopOffsets
    waits: PopLongPolling
    told: PopLongPolling
    peek: Peek
    orderly: Orderly
    popping: Popping
    acking: Acknowledgements
    revive_retry: ReviveRetry
    reviving: Reviving | None

    def load(self) -> None:
        self.orderly.load()
        if self.reviving is not None:
            self.reviving.load()
        self.popped.replay(
            self.notes.topic, lambda topic, group: topic in self.topics and group in self.groups
        )

    def written(self) -> None:
        self.popped.written()
        self.in_flight.written()

    def stored(self, messages: list[Dispatched]) -> None:
        self.waits.arrived(messages)
        self.told.arrived(messages)

    def wake(self, group: str, topic: str, queues: Iterable[int]) -> None:
        """A gate has opened, or an operator has moved the group: whoever waits for these queues looks again."""
        for queue_id in (_ALL_QUEUES, *queues):
            self.waits.wake_first(topic, group, queue_id)
            self.told.wake_first(topic, group, queue_id)

    def next_due(self, until: int) -> int | None:
        """When popped messages come back, or the first block of an orderly pop opens."""
        found = [self.orderly.block_timeouts.next_due()]
        if self.reviving is not None:
            found.append(self.reviving.next_due(until))
        return min((at for at in found if at is not None), default=None)

    def samples(self) -> Iterator[Sample]:
        counted = _in_flight(self.in_flight, self.topics, self.groups)
        return _samples(self.waits, self.reviving, self.notes, counted, self.revive_retry)


def part(
    context: Context,
    sends: Sends,
    topics: Topics,
    groups: SubscriptionGroups,
    consumers: Consumers,
    filters: SqlFilters,
    kept: Kept,
    traffic: Traffic,
) -> Part:
    """Told of a write after the offsets are loaded; what waits is woken when checkpoints count."""
    config, store, clock = context.config, context.store, context.clock
    of_store = context.plan.store
    checks = PopChecks(
        config, context.identity, topics, groups, consumers, filters, clock, of_store
    )
    pop = _put_together(context, sends, topics, groups, checks, kept, traffic)
    kept.elastic.groups.add_listener(
        lambda group, topic: pop.wake(group, topic, store.queues(topic))
    )

    def reset(group: str, topic: str, queue_id: int, offset: int) -> None:
        if offset < store.max_offset(topic, queue_id):
            pop.wake(group, normal_topic(topic, group), [queue_id])

    kept.offsets.add_reset_listener(reset)
    kept.offsets.add_back_listener(reset)
    return Part(
        name="pop",
        processors=[
            AckMessage(pop.acking, kept.lite),
            BatchAckMessage(pop.acking),
            ChangeMessageInvisibleTime(pop.acking, kept.lite),
            PopRollback(),
        ],
        main_port_only=[
            PopMessage(pop.popping, store, of_store),
            PollingInfo(checks, pop.waits),
            PeekMessage(checks, pop.peek, store, traffic),
            Notification(checks, pop.peek, pop.told, kept.lite_news, clock),
        ],
        services={
            "write the blocks of orderly pops": partial(
                services.every_async,
                config.flush_consumer_offset_interval / 1000,
                kept.blocks.persist_in_steps,
            ),
        },
        master_services={
            "open the blocks of orderly pops": pop.orderly.block_timeouts.run,
            **({} if pop.reviving is None else {"put popped messages back": pop.reviving.run}),
        },
        load=pop.load,
        before_cut=partial(pop.popped.take_back, pop.notes.topic),
        written=pop.written,
        stored=pop.stored,
        close=kept.blocks.persist,
        due=pop.next_due,
        samples=pop.samples,
        waits={"pop": pop.waits, "notification": pop.told},
    )


def _put_together(
    context: Context,
    sends: Sends,
    topics: Topics,
    groups: SubscriptionGroups,
    checks: PopChecks,
    kept: Kept,
    traffic: Traffic,
) -> _Pop:
    config, store, clock = context.config, context.store, context.clock
    of_store = context.plan.store
    offsets, blocks, gates = kept.offsets, kept.blocks, kept.elastic
    notes = Notes(sends.staging, sends.rules, config.broker_cluster_name, clock, traffic)
    in_flight = kept.in_flight
    elastic = ElasticPops(topics.partitions, gates.groups, gates.commits, offsets)
    popped = PopOffsets(config, offsets, store, blocks, in_flight, elastic)
    waits = PopLongPolling(config, clock)
    told = PopLongPolling(config, clock, latest_first=True)
    orderly = Orderly(blocks, offsets, (waits, told), elastic, clock)
    revive_retry = ReviveRetry(
        config, sends.staging, sends.rules, topics, offsets, notes, in_flight
    )
    reviving = None
    # What is acknowledged must not be put back because its note is on its way to the disk.
    store.enter_at_once(notes.topic)
    points = store.recovery_points
    points.declare(popped.recovery_point(notes.topic))
    if kept.timers is not None:
        reviving = Reviving(
            config, notes.topic, store, offsets, topics, groups, revive_retry, kept.timers
        )
        points.declare(reviving.recovery_point)
    queues = config.revive_queue_num
    return _Pop(
        topics=topics,
        groups=groups,
        notes=notes,
        in_flight=in_flight,
        popped=popped,
        waits=waits,
        told=told,
        peek=Peek(config, checks, offsets, blocks, store, elastic),
        orderly=orderly,
        popping=Popping(config, checks, popped, notes, store, waits, orderly, traffic),
        acking=Acknowledgements(topics, notes, orderly, store, of_store, queues, clock, in_flight),
        revive_retry=revive_retry,
        reviving=reviving,
    )


def _samples(
    waits: PopLongPolling,
    reviving: Reviving | None,
    notes: Notes,
    in_flight: Iterable[Sample],
    revive_retry: ReviveRetry,
) -> Iterator[Sample]:
    yield Sample("trimq_pop_waiting", "Pops that wait for a message.", "gauge", waits.waiting)
    yield Sample(
        "trimq_pop_revive_unread",
        "Records of the revive topic that are due and not read.",
        "gauge",
        0 if reviving is None else reviving.behind(),
    )
    yield Sample(
        "trimq_pop_revive_latency_seconds",
        "How long the oldest checkpoint that is due has not been settled.",
        "gauge",
        0 if reviving is None else reviving.latency() / 1000,
    )
    yield Sample("trimq_pop_checkpoints", "Checkpoints noted.", "counter", notes.checkpoints)
    yield Sample("trimq_pop_acks", "Acknowledgements noted.", "counter", notes.acks)
    yield from in_flight
    settled = 0 if reviving is None else reviving.settled
    yield Sample("trimq_pop_checkpoints_settled", "Checkpoints settled.", "counter", settled)
    yield Sample("trimq_pop_revived", "Popped messages put back.", "counter", revive_retry.revived)
    yield from _as_rocketmq_names_them(reviving, notes, revive_retry)


def _as_rocketmq_names_them(
    reviving: Reviving | None, notes: Notes, revive_retry: ReviveRetry
) -> Iterator[Sample]:
    """Some of the same figures once more, for dashboards that know RocketMQ's names (PopMetricsConstant)."""
    lag, latency = (0, 0) if reviving is None else (reviving.behind(), reviving.latency())
    yield Sample("rocketmq_pop_revive_lag", "As trimq_pop_revive_unread.", "gauge", lag)
    doc = "As trimq_pop_revive_latency_seconds, in milliseconds."
    yield Sample("rocketmq_pop_revive_latency", doc, "gauge", latency)
    for kind, count in (("CK", notes.checkpoints), ("ACK", notes.acks)):
        yield Sample(
            "rocketmq_pop_revive_in_message",
            "As trimq_pop_checkpoints and trimq_pop_acks.",
            "counter",
            count,
            {"revive_message_type": kind},
        )
    yield Sample(
        "rocketmq_pop_revive_retry_messages",
        "As trimq_pop_revived.",
        "counter",
        revive_retry.revived,
    )


def _in_flight(in_flight: InFlight, topics: Topics, groups: SubscriptionGroups) -> Iterator[Sample]:
    """Whatever has gone meanwhile is forgotten."""
    for group, topic, count in in_flight:
        if group not in groups or normal_topic(topic, group) not in topics:
            in_flight.forget(group, topic)
            continue
        yield Sample(
            "trimq_pop_in_flight",
            "Messages that were popped and not acknowledged, since the start.",
            "gauge",
            count,
            {"group": group, "topic": topic},
        )
        yield Sample(
            "rocketmq_consumer_inflight_messages",
            "As trimq_pop_in_flight.",
            "gauge",
            count,
            {"consumer_group": group, "topic": topic},
        )
