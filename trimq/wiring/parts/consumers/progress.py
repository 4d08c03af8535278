"""How far groups are behind."""

from trimq.broker.consume.backlog import Backlog
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.processors.progress.get_broker_consume_stats import GetBrokerConsumeStats
from trimq.processors.progress.get_consume_stats import GetConsumeStats
from trimq.processors.progress.query_consume_time_span import QueryConsumeTimeSpan
from trimq.processors.progress.query_correction_offset import QueryCorrectionOffset
from trimq.processors.progress.query_topics_by_consumer import QueryTopicsByConsumer
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.operation.stats import Figures


def part(
    context: Context,
    topics: Topics,
    groups: SubscriptionGroups,
    consumers: Consumers,
    offsets: ConsumerOffsets,
    figures: Figures,
) -> Part:
    config, identity, store, stats = context.config, context.identity, context.store, figures.stats
    backlog = Backlog(config, topics, consumers, offsets, store, stats)
    return Part(
        name="progress",
        processors=[
            GetConsumeStats(config, topics, consumers, offsets, store, stats),
            GetBrokerConsumeStats(identity, groups, offsets, backlog),
            QueryConsumeTimeSpan(config, topics, offsets, store, context.clock),
            QueryCorrectionOffset(offsets, store),
            QueryTopicsByConsumer(identity, offsets),
        ],
    )
