"""What one look at the servers shows: queues with their bounds, what is away, and what is gone for good."""

from __future__ import annotations

from dataclasses import dataclass, field

from trimq.spark.outages import Away
from trimq.spark.positions import QueueKey
from trimq.spark.queues import Bounds


@dataclass(slots=True)
class View:
    """`away`: what does not answer now, with the reason; `waits`: queues that are known and behind it.

    `gone`: queues that are known and deleted, with the reason: a broker that is there said so.
    `masters`: addresses by topic and broker name.
    """

    bounds: dict[QueueKey, Bounds] = field(default_factory=dict)
    away: dict[str, str] = field(default_factory=dict)
    waits: set[QueueKey] = field(default_factory=set)
    gone: dict[QueueKey, str] = field(default_factory=dict)
    masters: dict[tuple[str, str], str] = field(default_factory=dict)

    def outage(self) -> Away:
        """What is away, as an error that says so in one sentence."""
        texts = [f"{what} {why}" for what, why in self.away.items()]
        more = f", and {len(texts) - 3} more are away" if len(texts) > 3 else ""
        return Away("; ".join(texts[:3]) + more)

    def complete(self) -> View:
        """Itself; Away when anything is."""
        if self.away:
            raise self.outage()
        return self
