"""A call with its fields, what is done before it, and the topic and group that it has to play with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Fields = Mapping[str, Any]

# Of every call, unless a case says otherwise; None leaves one out.
METADATA: Final[Mapping[str, str]] = {
    "x-mq-client-id": "{client}",
    "x-mq-language": "JAVA",
    "x-mq-client-version": "5.1.0",
    "x-mq-protocol": "v2",
}


@dataclass(frozen=True)
class Topic:
    """`kind`: its message.type; empty: the topic is not made."""

    kind: str = "NORMAL"
    reads: int = 1
    writes: int = 1
    perm: int = 6


@dataclass(frozen=True)
class Step:
    """An earlier call of the same client. `keep`: what of its first answer is used later, by name and path.

    `fields` of Telemetry are those of each command.
    """

    call: str
    fields: Fields
    keep: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 10.0
    metadata: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """`{topic}`, `{group}`, `{client}` and what steps have kept stand for the case's own in every text.

    `group`: settings of the consumer group, as the broker has them; None: it is not made. `timeout`: the deadline,
    in seconds. `before` is done by the same client.
    """

    name: str
    call: str
    fields: Fields
    before: tuple[Step, ...] = ()
    topic: Topic = Topic()
    group: Fields | None = field(default_factory=dict)
    metadata: Mapping[str, str | None] = field(default_factory=dict)
    timeout: float = 10.0

    @property
    def last(self) -> Step:
        """The call itself."""
        return Step(self.call, self.fields, timeout=self.timeout, metadata=self.metadata)
