"""What one look at the servers shows: queues with their bounds, what is away, and what is gone for good."""

from __future__ import annotations

from dataclasses import dataclass, field

from trimq.spark.options.positions import QueueKey
from trimq.spark.queues import QueueEnds
from trimq.spark.reading.outages import Away


@dataclass(slots=True)
class View:
    """`away`: what does not answer now, with the reason; `waits`: known queues that depend on it.

    `gone`: known queues that are deleted, with the reason: a broker that answers said so.
    `retired`: where those of them end that their broker still knows, though nobody may read them.
    `masters`: addresses by topic and broker name.
    """

    bounds: dict[QueueKey, QueueEnds] = field(default_factory=dict)
    away: dict[str, str] = field(default_factory=dict)
    waits: set[QueueKey] = field(default_factory=set)
    gone: dict[QueueKey, str] = field(default_factory=dict)
    retired: dict[QueueKey, int] = field(default_factory=dict)
    masters: dict[tuple[str, str], str] = field(default_factory=dict)

    def outage(self) -> Away:
        """What is away, as a one-sentence error."""
        texts = [f"{what} {why}" for what, why in self.away.items()]
        more = f", and {len(texts) - 3} more are away" if len(texts) > 3 else ""
        return Away("; ".join(texts[:3]) + more)

    def complete(self) -> View:
        """Returns itself; raises Away when anything is away."""
        if self.away:
            raise self.outage()
        return self
