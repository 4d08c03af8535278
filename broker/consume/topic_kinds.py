"""The kinds of topics whose pulls take a way of their own: static, compacted, elastic."""

from dataclasses import dataclass

from trimq.broker.compaction.compaction import Compaction
from trimq.broker.consume.elastic_pulls import ElasticPulls
from trimq.broker.topics.static_queues import StaticQueues


@dataclass(frozen=True, slots=True)
class TopicKinds:
    """`compaction` is None on a broker that compacts nothing."""

    static: StaticQueues
    compaction: Compaction | None
    elastic: ElasticPulls
