"""An elastic topic as an operator sees it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from trimq.broker.elastic.gated_groups import Behind
from trimq.broker.elastic.model import TopicMap
from trimq.broker.elastic.readers import ElasticReaders
from trimq.broker.elastic.scaling import Scaling
from trimq.broker.elastic.state_records import versions_of
from trimq.broker.identity import BrokerIdentity
from trimq.broker.store_views import QueueReader
from trimq.codec.bodies.elastic_admin import (
    ElasticGroup,
    ElasticLoad,
    ElasticQueue,
    ElasticView,
    ElasticWait,
)
from trimq.codec.bodies.locks import MessageQueue


class HeldUp(Protocol):
    """What of GatedGroups is needed here."""

    def groups(self, topic: str) -> Iterable[str]: ...

    def held_up_by(self, group: str, topic: str) -> Iterable[Behind]:
        """Each donor that keeps a change closed."""


class PutCounts(Protocol):
    """What of ElasticMaps is needed here."""

    def counts(self, topic: str) -> Sequence[int]: ...


class Rates(Protocol):
    """What of Loads is needed here."""

    def rates(self, topic: str) -> Sequence[float]: ...


class Holders(Protocol):
    """Who has a queue locked."""

    def holder(self, group: str, queue: MessageQueue) -> str | None: ...


class Descriptions:
    """Puts together what maps, groups, locks, scaling and the store know."""

    def __init__(
        self,
        gated: HeldUp,
        readers: ElasticReaders,
        scaling: Scaling,
        locks: Holders,
        store: QueueReader,
        identity: BrokerIdentity,
        maps: PutCounts,
        rates: Rates,
    ) -> None:
        self._maps = maps
        self._rates = rates
        self._gated = gated
        self._readers = readers
        self._scaling = scaling
        self._locks = locks
        self._store = store
        self._identity = identity

    def view(self, topic: str, state: TopicMap, read_queues: int) -> ElasticView:
        """All queues that can be read, the remembered changes, and the groups that read in order."""
        pending, stage = self._scaling.pending(topic)
        loads = self._loads(topic, state)
        partitions = Counter(state.queues)
        rates = dict.fromkeys(range(max(state.in_use, read_queues)), 0.0)
        for load in loads:
            rates[load.queue] += load.rate
        return ElasticView(
            topic=topic,
            partitions=len(state.queues),
            version=state.version,
            pending=pending,
            stage=stage,
            queues=[
                ElasticQueue(
                    queue=queue,
                    partitions=partitions[queue],
                    min_offset=self._store.min_offset(topic, queue),
                    max_offset=self._store.max_offset(topic, queue),
                    rate=rate,
                )
                for queue, rate in rates.items()
            ],
            changes=versions_of(state),
            groups=[self._group(topic, group) for group in sorted(self._gated.groups(topic))],
            loads=loads,
            old_queues=state.old_queues,
        )

    def _loads(self, topic: str, state: TopicMap) -> list[ElasticLoad]:
        """Of partitions that have got messages since the start."""
        rates = self._rates.rates(topic)
        return [
            ElasticLoad(
                partition=partition,
                queue=state.queues[partition],
                messages=count,
                rate=rates[partition] if rates else 0.0,
            )
            for partition, count in enumerate(self._maps.counts(topic))
            if count
        ]

    def _group(self, topic: str, group: str) -> ElasticGroup:
        return ElasticGroup(
            group=group,
            passed=sorted(self._readers.passed(group, topic)),
            members=self._readers.members(group),
            waits=[
                ElasticWait(
                    version=one.version,
                    queue=one.donor,
                    end=one.end,
                    committed=one.committed,
                    since=one.since,
                    last_commit=one.last_commit,
                    owner=self._locks.holder(
                        group,
                        MessageQueue(
                            topic=topic, broker_name=self._identity.name, queue_id=one.donor
                        ),
                    ),
                )
                for one in self._gated.held_up_by(group, topic)
            ],
        )
