"""Topics with `cleanup.policy=COMPACTION`, whose newest message of each key is to stay for ever."""

from trimq.broker.attributes import is_compacted
from trimq.broker.pending.taken_over import Found, Kind, TakenOver


def count(taken: TakenOver) -> Found:
    return Found(sum(is_compacted(topic.attributes) for topic in taken.topics.values()))


COMPACTION = Kind(
    "topic with cleanup.policy=COMPACTION, whose messages would be deleted by age",
    "topics with cleanup.policy=COMPACTION, whose messages would be deleted by age",
    count,
)
