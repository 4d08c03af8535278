"""What resetOffsetByTime and skipAccumulatedMessage do on each broker of a topic."""

from dataclasses import dataclass, field

from trimq.admin.errors import Refused
from trimq.admin.groups.offsets import CommittedReset, is_offline
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.names import LMQ_PREFIX, TIMER_TOPIC
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.offsets import in_java_order


@dataclass(slots=True)
class Resets:
    """What brokers and members will do, or what was committed because nobody was online."""

    offsets: dict[MessageQueue, int] = field(default_factory=dict)
    committed: list[CommittedReset] | None = None


def reset_everywhere(
    run: Run, group: str, topic: str, millis: int, force: bool, route_topic: str | None
) -> Resets:
    """Reset on every broker of the topic; failures do not stop the others.

    Like the official tool, commits offsets by itself on all brokers when one says that nobody is
    online.
    """
    resets = Resets()
    addrs = run.admin.route_addrs(route_topic or topic)
    if not addrs:
        raise Failed(f"no broker has topic {topic!r}")

    def reset(addr: str) -> None:
        try:
            resets.offsets |= run.admin.reset_group(addr, group, topic, millis, force)
        except Refused as refused:
            if not is_offline(refused):
                raise
            resets.committed = resets.committed or []
            moved = run.admin.reset_committed(addr, group, topic, millis, force)
            resets.committed += in_java_order(moved)

    run.on_each(addrs, reset)
    return resets


def route_topic_of(topic: str, cluster: str | None) -> str | None:
    """Topics without a route of their own (lite ones, the timer wheel's) are found by another's."""
    is_elsewhere = topic.startswith(LMQ_PREFIX) or topic == TIMER_TOPIC
    return cluster if is_elsewhere else None
