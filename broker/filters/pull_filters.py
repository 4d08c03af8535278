"""What a pull asks messages, given its subscription; and what maps of filters messages get when they are stored.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.filters.consumer_filters import ConsumerFilters, Filter
from trimq.broker.filters.message_filters import ExpressionFilter, RetryFilter
from trimq.broker.filters.verdicts import PropertyVerdicts
from trimq.codec.entries.extension_unit import bit_map_with
from trimq.codec.names import RETRY_PREFIX
from trimq.codec.sql.expression import Expression
from trimq.codec.sql.property_lookup import PropertyLookup
from trimq.store.messages.filter import MessageFilter
from trimq.store.messages.message import Dispatched

# A message that would cost more than that for its map gets none, and is looked at when it is pulled.
_MOST_WORK: Final = 100_000


class PullFilters:
    """`with_maps`: queues have extensions, and filters are calculated for their maps."""

    def __init__(self, config: BrokerConfig, filters: ConsumerFilters, with_maps: bool) -> None:
        self._config = config
        self._filters = filters
        self._with_maps = with_maps
        self._bits = filters.bloom.bits
        self._verdicts = PropertyVerdicts()

    def by_expression(self, topic: str, expression: Expression) -> MessageFilter:
        """Of a subscription that came with the pull: it is in no map."""
        if self._is_for_retries(topic):
            return self._for_retries(topic)
        return ExpressionFilter(expression, self._verdicts.by(expression))

    def by_group(self, topic: str, known: Filter) -> MessageFilter | None:
        """Of the group's own; None when it has not been read since the start."""
        expression = known.expression
        if expression is None:
            return None
        if self._is_for_retries(topic):
            return self._for_retries(topic)
        made = ExpressionFilter(expression, self._verdicts.by(expression))
        bloom = known.data.bloom_filter_data
        if self._with_maps and bloom is not None and bloom.bit_pos is not None:
            made.use_maps(self._bits // 8, bloom.bit_pos, known.data.born_time)
        return made

    def _is_for_retries(self, topic: str) -> bool:
        return self._config.filter_support_retry and topic.startswith(RETRY_PREFIX)

    def _for_retries(self, topic: str) -> MessageFilter:
        # Of POP's topics, version 2 names the topic after a plus (KeyBuilder.parseGroup).
        group = topic.removeprefix(RETRY_PREFIX).split("+")[0]
        found = self._filters.of_group(group)
        return RetryFilter(
            {name: one.expression for name, one in found.items() if one.expression is not None}
        )

    def map_of(self, record: Dispatched) -> bytes:
        """The bits of the groups that want it; empty on a topic without filters (CommitLogDispatcherCalcBitMap)."""
        filters = self._filters.on_topic(record.topic)
        if not filters:
            return b""
        bits = work = 0
        lookup = PropertyLookup(record.properties)
        for known in filters.values():
            bloom, expression = known.data.bloom_filter_data, known.expression
            if bloom is None or bloom.bit_pos is None or expression is None:
                continue
            work += lookup.spent + expression.cost
            if work > _MOST_WORK:
                return b""
            lookup.take(record.properties)
            if expression.holds(lookup):
                for position in bloom.bit_pos:
                    bits |= 1 << position
        return bit_map_with(bits, self._bits // 8)
