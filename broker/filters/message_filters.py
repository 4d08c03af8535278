"""Filters over properties, as the store asks them (ExpressionMessageFilter, ExpressionForRetryMessageFilter).

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.records.properties import find_property
from trimq.codec.sql.expression import Expression
from trimq.codec.sql.looked import Looked
from trimq.store.messages.filter import MessageFilter
from trimq.store.native import Verdicts


class ExpressionFilter(MessageFilter):
    """By one expression."""

    __slots__ = ("_looked", "expression")

    def __init__(self, expression: Expression, verdicts: Verdicts | None = None) -> None:
        super().__init__(verdicts)
        self.expression = expression
        self._looked = Looked(b"")

    def matches(self, properties: bytes) -> bool:
        looked = self._looked
        looked.take(properties)
        holds = self.expression.holds(looked)
        self.spent = looked.spent + self.expression.cost
        return holds


class RetryFilter(MessageFilter):
    """For a group's retry topic: by the filter that the group has on the message's own topic."""

    __slots__ = ("_by_topic", "_looked")

    def __init__(self, by_topic: dict[str, Expression]) -> None:
        super().__init__()
        self._by_topic = by_topic
        self._looked = Looked(b"")

    def matches(self, properties: bytes) -> bool:
        """Without a filter there, it is wanted."""
        self.spent = 0
        topic = find_property(properties, b"RETRY_TOPIC")
        expression = None if topic is None else self._by_topic.get(topic.decode("utf-8", "replace"))
        if expression is None:
            return True
        looked = self._looked
        looked.take(properties)
        holds = expression.holds(looked)
        self.spent = looked.spent + expression.cost
        return holds
