"""Messages that POP has to hand out once more: its own retry topics, which nobody else reads."""

from trimq.broker.pending.taken_over import Found, Kind, TakenOver
from trimq.codec.names import RETRY_PREFIX


def count(taken: TakenOver) -> Found:
    waiting = 0
    stored = {topic for topic in taken.store.topics() if topic.startswith(RETRY_PREFIX)}
    if not stored:
        return Found(0)
    for key in taken.offsets:
        topic, _, group = key.partition("@")
        # KeyBuilder: %RETRY%group_topic, or %RETRY%group+topic; that of other consumers ends here.
        of_pop = (f"{RETRY_PREFIX}{group}_", f"{RETRY_PREFIX}{group}+")
        if topic in stored and topic.startswith(of_pop):
            for queue_id in taken.store.queues(topic):
                end = taken.store.max_offset(topic, queue_id)
                waiting += max(0, end - taken.committed(topic, group, queue_id))
    return Found(waiting)


POP_RETRIES = Kind(
    "message that POP has to hand out once more",
    "messages that POP has to hand out once more",
    count,
)
