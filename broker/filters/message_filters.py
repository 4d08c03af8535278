"""Filters over properties, as the store asks them (ExpressionMessageFilter, ExpressionForRetryMessageFilter).

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.records.properties import find_property
from trimq.codec.sql.expression import Expression
from trimq.codec.sql.property_lookup import PropertyLookup
from trimq.store.messages.filter import MessageFilter
from trimq.store.native import Verdicts


class ExpressionFilter(MessageFilter):
    """By one expression."""

    __slots__ = ("_lookup", "expression")

    def __init__(self, expression: Expression, verdicts: Verdicts | None = None) -> None:
        super().__init__(verdicts)
        self.expression = expression
        self._lookup = PropertyLookup(b"")

    def matches(self, properties: bytes) -> bool:
        lookup = self._lookup
        lookup.take(properties)
        holds = self.expression.holds(lookup)
        self.spent = lookup.spent + self.expression.cost
        return holds


class RetryFilter(MessageFilter):
    """For a group's retry topic: by the filter that the group has on the message's own topic."""

    __slots__ = ("_by_topic", "_lookup")

    def __init__(self, by_topic: dict[str, Expression]) -> None:
        super().__init__()
        self._by_topic = by_topic
        self._lookup = PropertyLookup(b"")

    def matches(self, properties: bytes) -> bool:
        """Without a filter there, it is wanted."""
        self.spent = 0
        topic = find_property(properties, b"RETRY_TOPIC")
        expression = None if topic is None else self._by_topic.get(topic.decode("utf-8", "replace"))
        if expression is None:
            return True
        lookup = self._lookup
        lookup.take(properties)
        holds = expression.holds(lookup)
        self.spent = lookup.spent + expression.cost
        return holds
