"""Topics, ordinary and static."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.lifecycle import LiteLifecycle
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.services import background as services
from trimq.broker.services.deletion_lists import PacedWork
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.services.topic_deletion import TopicDeletion
from trimq.broker.tables.writer import TableWriter
from trimq.broker.timers.interface import Timers
from trimq.broker.topics.queue_types import queue_type
from trimq.broker.topics.static_queues import StaticQueues
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.process.metrics import Sample
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.processors.topics.delete_topic_in_broker_list import DeleteTopicInBrokerList
from trimq.processors.topics.get_all_topic_config import GetAllTopicConfig
from trimq.processors.topics.get_system_topic_list_from_broker import GetSystemTopicListFromBroker
from trimq.processors.topics.get_topic_config import GetTopicConfig
from trimq.processors.topics.get_topic_stats_info import GetTopicStatsInfo
from trimq.processors.topics.update_and_create_static_topic import UpdateAndCreateStaticTopic
from trimq.processors.topics.update_and_create_topic import UpdateAndCreateTopic
from trimq.processors.topics.update_and_create_topic_list import UpdateAndCreateTopicList
from trimq.store.message_store import MessageStore
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.operation.stats import Figures


@dataclass(frozen=True, slots=True)
class TopicTables:
    """``static`` turns the numbers of static topics' queues into those of their parts here."""

    table: Topics
    static: StaticQueues


@dataclass(frozen=True, slots=True)
class Holders:
    """Who has something of a topic beside its messages, and forgets it with the topic."""

    timers: Timers | None
    blocks: OrderBlocks
    lite: LiteLifecycle


def topic_tables(context: Context, others: OtherBrokers) -> TopicTables:
    table = Topics(
        context.config, context.directory, context.real_clock, context.plan.store.enable_lmq
    )
    return TopicTables(table, StaticQueues(table.mappings, others))


def part(
    context: Context,
    topics: Topics,
    tables: TableWriter,
    registration: Registration,
    offsets: ConsumerOffsets,
    figures: Figures,
    holders: Holders,
    detached: DetachedWork,
) -> Part:
    config, store = context.config, context.store
    topics.write_by(tables)
    topics.deletions.log_end = lambda: store.max_physical_offset
    topics.add_listener(partial(_tell_queue_type, store))
    deletion = TopicDeletion(
        config,
        topics,
        offsets,
        store,
        figures.traffic,
        holders.timers,
        holders.blocks,
        holders.lite,
    )
    paced = PacedWork(detached)
    announced = partial(registration.settled, config.register_broker_timeout_mills / 1000)
    return Part(
        name="topics",
        processors=[
            UpdateAndCreateTopic(config, topics, announced),
            UpdateAndCreateStaticTopic(config, topics, announced),
            UpdateAndCreateTopicList(config, topics, announced),
            DeleteTopicInBroker(config, topics, deletion, detached),
            DeleteTopicInBrokerList(config, topics, deletion, paced),
            GetAllTopicConfig(config, topics),
            GetTopicConfig(topics),
            GetSystemTopicListFromBroker(topics),
            GetTopicStatsInfo(config, topics, store, figures.stats),
        ],
        services={
            "settle topics": partial(services.every_async, services.SETTLE_SECONDS, topics.settle),
            "end deletions": detached.run,
            "end lists of topics": paced.run,
        },
        load=topics.load,
        close=topics.close,
        samples=partial(_samples, topics),
    )


def _tell_queue_type(store: MessageStore, topic: TopicConfig) -> None:
    """A topic's type is fixed when it is created; the store already knows those in the file."""
    store.declare_queue_type(topic.topic_name, queue_type(topic))


def _samples(topics: Topics) -> Iterator[Sample]:
    yield Sample("trimq_topics", "Topics.", "gauge", len(topics))
