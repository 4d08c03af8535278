"""Topics that keep the newest message of each key."""

from collections.abc import Iterator
from functools import partial

from trimq.broker.compaction.compaction import Compaction
from trimq.broker.topics.table import Topics
from trimq.process.metrics import Sample
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def compaction_of(context: Context, topics: Topics) -> Compaction | None:
    """None for a broker that is started without (enableCompaction)."""
    config = context.plan.store
    if not config.enable_compaction:
        return None
    made = Compaction(config, context.store, topics, not context.plan.is_slave)
    context.store.recovery_points.declare(made.recovery_point)
    return made


def part(compaction: Compaction | None) -> Part:
    """Loaded after the topics, which say what is to be kept."""
    if compaction is None:
        return Part(name="compaction")
    return Part(
        name="compaction",
        services={
            "copy messages of compacted topics": compaction.keep_copied,
            "rewrite compacted queues": compaction.keep_rewritten,
        },
        load=compaction.load,
        recover=compaction.recover,
        close=compaction.close,
        samples=partial(_samples, compaction),
    )


def _samples(compaction: Compaction) -> Iterator[Sample]:
    yield Sample(
        "trimq_compaction_rewritten",
        "Times that a queue was rewritten without what has a newer message of its key.",
        "counter",
        compaction.rewritten,
    )
