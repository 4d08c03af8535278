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


def filter_of(asked: FilterExpression) -> Filter:
    """ProxyError ILLEGAL_FILTER_EXPRESSION. Whether SQL can be understood is the broker's to say."""
    text = asked.expression
    if asked.type == FilterType.SQL:
        if not text:
            raise ProxyError(Code.ILLEGAL_FILTER_EXPRESSION, "Expression can't be null! SQL92")
        return Filter("SQL92", text)
    if text in {"", "*"}:
        return Filter("TAG", "*")
    if not text.replace("||", ""):
        raise ProxyError(Code.ILLEGAL_FILTER_EXPRESSION, "subString split error")
    tags = frozenset(tag for tag in map(_trimmed, text.split("||")) if tag)
    return Filter("TAG", text, tags)


def _trimmed(tag: str) -> str:
    """As Java trims: what is not above a space."""
    return tag.strip("".join(map(chr, range(0x21))))
