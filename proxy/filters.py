"""What a receive is filtered by (FilterAPI, PopMessageResultFilterImpl)."""

from __future__ import annotations

from dataclasses import dataclass

from trimq.proxy.protos.definition_pb2 import Code, FilterExpression, FilterType
from trimq.proxy.statuses import ProxyError


@dataclass(frozen=True, slots=True)
class Filter:
    """`kind`: TAG or SQL92. `tags`: empty when every tag will do."""

    kind: str
    expression: str
    tags: frozenset[str] = frozenset()

    def matches(self, tag: str | None) -> bool:
        """Brokers go by the tags' hashes, so they may send one too many."""
        return not self.tags or tag in self.tags


def is_wrong(asked: FilterExpression) -> bool:
    """An expression of SQL cannot be empty, one of tags not without any; Java's split leaves nothing of separators."""
    text = asked.expression
    if asked.type == FilterType.SQL:
        return not text
    return text not in {"", "*"} and not text.replace("||", "")


def filter_of(asked: FilterExpression) -> Filter:
    """ProxyError ILLEGAL_FILTER_EXPRESSION. Whether SQL can be understood is the broker's to say."""
    text = asked.expression
    is_sql = asked.type == FilterType.SQL
    if is_wrong(asked):
        told = "Expression can't be null! SQL92" if is_sql else "subString split error"
        raise ProxyError(Code.ILLEGAL_FILTER_EXPRESSION, told)
    if is_sql:
        return Filter("SQL92", text)
    if text in {"", "*"}:
        return Filter("TAG", "*")
    tags = frozenset(tag for tag in map(_trimmed, text.split("||")) if tag)
    return Filter("TAG", text, tags)


def _trimmed(tag: str) -> str:
    """As Java trims: what is not above a space."""
    return tag.strip("".join(map(chr, range(0x21))))
