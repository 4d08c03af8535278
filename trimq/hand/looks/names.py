"""Topics and groups by the names that a test gives; a wrong one is answered with the nearest."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from trimq.broker.groups.subscription_groups import PREDEFINED
from trimq.codec.names import DLQ_PREFIX, dlq_topic, is_system_group, retry_topic
from trimq.hand.operation import HandError
from trimq.wiring.broker import Broker

_MOST_NAMED: Final = 10


def nearest(name: str, names: Iterable[str]) -> str:
    """What follows "there is no such ..." in an error."""
    known = sorted(names)
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if not close:
        lower = {one.lower(): one for one in known}
        close = [lower[one] for one in get_close_matches(name.lower(), lower, n=1, cutoff=0.5)]
    if close:
        return f"the nearest name is {close[0]}"
    if not known:
        return "there is none at all yet"
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"there are {', '.join(known[:_MOST_NAMED])}{more}"


def own_topics(broker: Broker) -> set[str]:
    """Topics that somebody has made, dead-letter and retry topics among them."""
    topics = broker.common.messaging.topics.table
    return {name for name in topics.all() if not topics.is_system_topic(name)}


def no_topic(broker: Broker, topic: str) -> str | None:
    """Why there is no such topic; None when there is."""
    if topic in broker.common.messaging.topics.table:
        return None
    return f"there is no topic {topic}: {nearest(topic, own_topics(broker))}"


def check_topic(broker: Broker, topic: str) -> None:
    """HandError for one that does not exist."""
    why = no_topic(broker, topic)
    if why is not None:
        raise HandError(why)


def has_group(broker: Broker, group: str) -> bool:
    """Whether it is in the table, is connected, has offsets, or has a retry or dead-letter topic. Quick."""
    readers, topics = broker.common.readers, broker.common.messaging.topics.table
    return (
        group in readers.groups
        or readers.clients.consumers.group(group) is not None
        or bool(readers.offsets.topics_of(group))
        or retry_topic(group) in topics
        or dlq_topic(group) in topics
    )


def groups(broker: Broker) -> set[str]:
    """Consumer groups that somebody has made."""
    readers = broker.common.readers
    found = {*readers.groups.all(), *readers.clients.consumers.groups()}
    found |= {key.rpartition("@")[2] for key in readers.offsets.committed.queues}
    found |= {
        topic.removeprefix(DLQ_PREFIX)
        for topic in own_topics(broker)
        if topic.startswith(DLQ_PREFIX)
    }
    return {name for name in found if name not in PREDEFINED and not is_system_group(name)}


def no_group(broker: Broker, group: str) -> str | None:
    """Why there is no such consumer group; None when there is."""
    if has_group(broker, group):
        return None
    return f"there is no consumer group {group}: {nearest(group, groups(broker))}"


def check_group(broker: Broker, group: str) -> None:
    """HandError for one that does not exist."""
    why = no_group(broker, group)
    if why is not None:
        raise HandError(why)
