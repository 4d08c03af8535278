"""Elastic ordered topics: their maps, and the groups that wait behind changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import trio

from trimq.broker.cluster.registration import Registration
from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.elastic.commits import ElasticCommits
from trimq.broker.elastic.description import Descriptions
from trimq.broker.elastic.gate_waits import Gates
from trimq.broker.elastic.gated_groups import GatedGroups
from trimq.broker.elastic.kept_records import ElasticRecords
from trimq.broker.elastic.log import ElasticLog
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.elastic.model import Change
from trimq.broker.elastic.old_producers import OldProducers
from trimq.broker.elastic.partition_load import PartitionLoads
from trimq.broker.elastic.readers import ElasticReaders
from trimq.broker.elastic.retired_queues import RetiredQueues
from trimq.broker.elastic.scaling import Scaling
from trimq.broker.elastic.shared_topics import SharedTopics
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.table import Topics
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.process.metrics import Sample
from trimq.processors.elastic.elastic_cancel import CancelElasticChanges
from trimq.processors.elastic.elastic_create import CreateElasticTopic
from trimq.processors.elastic.elastic_move import MoveElasticPartitions
from trimq.processors.elastic.elastic_scale import ScaleElasticTopic
from trimq.processors.elastic.elastic_show import ShowElasticTopic
from trimq.store.message_store import MessageStore
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.consumers.clients import Clients


@dataclass(frozen=True, slots=True)
class Elastic:
    """What sends, pulls, locks and commits ask."""

    records: ElasticLog
    kept: ElasticRecords
    maps: ElasticMaps
    groups: GatedGroups
    commits: ElasticCommits
    gates: Gates


def elastic_topics(
    context: Context,
    topics: Topics,
    offsets: ConsumerOffsets,
    clients: Clients,
    arrivals: Arrivals,
) -> Elastic:
    store = context.store
    records = ElasticLog(store, topics, context.identity, context.clock)
    kept = records.kept = ElasticRecords(store, context.directory)
    store.recovery_points.declare(kept.recovery_point)
    maps = ElasticMaps(records, topics, store)
    groups = GatedGroups(records, maps, topics, offsets, clients.consumers, store, context.clock)
    commits = ElasticCommits(
        context.identity,
        records,
        groups,
        offsets,
        clients.consumers,
        clients.locks,
        context.clock,
    )
    gates = Gates(context.config.max_held_pulls, context.clock)
    groups.add_listener(gates.opened)
    commits.wake = arrivals.wake
    offsets.guard(topics.partitions, commits)

    def ask_donors(topic: str, change: Change) -> None:
        """Who waits there for messages has a commit that gates wait for."""
        for donor in change.ends:
            arrivals.wake(topic, donor)

    maps.add_listener(ask_donors)
    return Elastic(records, kept, maps, groups, commits, gates)


@dataclass(frozen=True, slots=True)
class Around:
    """What operators' requests need beside."""

    topics: Topics
    offsets: ConsumerOffsets
    clients: Clients
    registration: Registration
    routes: ClusterRoutes


def part(context: Context, elastic: Elastic, around: Around) -> Part:
    """Loaded after topics and offsets."""
    store, maps, groups = context.store, elastic.maps, elastic.groups
    config, topics = context.config, around.topics
    readers = ElasticReaders(groups, around.clients.consumers, around.offsets, store)
    scaling = Scaling(maps, readers, RetiredQueues(maps, readers, topics), context.real_clock)
    loads = PartitionLoads(maps, context.real_clock)
    shared_topics = SharedTopics(maps, around.routes, context.identity)
    descriptions = Descriptions(
        groups,
        readers,
        scaling,
        around.clients.locks,
        store,
        context.identity,
        maps,
        loads,
    )
    old_producers = OldProducers(maps, around.clients.producers)
    announced = partial(around.registration.settled, config.register_broker_timeout_mills / 1000)

    _listen(store, elastic, scaling)
    return Part(
        name="elastic",
        processors=[
            CreateElasticTopic(config, topics, maps, groups, around.clients.locks, announced),
            ScaleElasticTopic(scaling),
            MoveElasticPartitions(scaling),
            CancelElasticChanges(scaling),
            ShowElasticTopic(maps, topics, descriptions, old_producers),
        ],
        master_services={
            "change elastic topics": partial(_lead, elastic, scaling),
            "rates of elastic topics": loads.run,
            "elastic topics elsewhere": shared_topics.run,
        },
        services={
            "move on in the elastic map": partial(
                elastic.kept.run, (maps, groups, elastic.commits)
            ),
        },
        slave_services={"follow resets of elastic topics": partial(_follow, elastic)},
        load=partial(_load, elastic, context.plan.is_slave),
        recover=partial(_recover, elastic),
        decides=(ELASTIC_MAP_TOPIC,),
        stored=groups.stored,
        connections=maps.places,
        samples=partial(_samples, elastic, shared_topics),
        waits={"gate": elastic.gates},
    )


async def _lead(elastic: Elastic, scaling: Scaling) -> None:
    """While this broker is a master, from the start on or when it was a slave."""
    if elastic.commits.follows:
        elastic.commits.restore()
        elastic.maps.widen()
    await scaling.run()


async def _follow(elastic: Elastic) -> None:
    """While it is a slave; the same."""
    if not elastic.commits.follows:
        elastic.commits.follow()
    await trio.sleep_forever()


def _listen(store: MessageStore, elastic: Elastic, scaling: Scaling) -> None:
    """Files and topics that go, and records that are written."""

    def keep(end: int) -> None:
        # A slave has the master's log, and adds nothing to it.
        if not elastic.commits.follows:
            elastic.maps.keep(end)
            elastic.groups.keep(end)
            elastic.commits.keep(end)

    def forget(topic: str) -> None:
        if not elastic.commits.follows:
            elastic.maps.forget_topic(topic)
            scaling.forget(topic)

    store.cleaning.add_listener(keep)
    store.deletion.add_listener(forget)
    store.give_effect(ELASTIC_MAP_TOPIC, elastic.records.written)


def _load(elastic: Elastic, is_slave: bool) -> None:
    elastic.kept.load()
    elastic.kept.appends = lambda: not elastic.commits.follows
    elastic.records.replay()
    elastic.groups.show_all()
    if is_slave:
        elastic.commits.follow()
        return
    elastic.commits.restore()
    elastic.maps.mend()


def _recover(elastic: Elastic, log_end: int) -> None:
    follows = elastic.commits.follows
    elastic.records.recover(log_end)
    elastic.groups.show_all()
    if follows:
        elastic.commits.follow()
    else:
        elastic.commits.restore()


def _samples(elastic: Elastic, shared_topics: SharedTopics) -> Iterator[Sample]:
    names = elastic.maps.topics()
    yield Sample("trimq_elastic_topics", "Elastic topics.", "gauge", len(names))
    groups = sum(len(elastic.groups.groups(name)) for name in names)
    yield Sample(
        "trimq_elastic_groups", "Groups that read elastic topics in order.", "gauge", groups
    )
    yield Sample(
        "trimq_elastic_topics_elsewhere",
        "Elastic topics that another broker takes messages of, too: no order.",
        "gauge",
        shared_topics.count,
    )
