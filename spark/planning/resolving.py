"""The offsets that a position means: a word, a time, or offsets that were given."""

from __future__ import annotations

from collections.abc import Mapping

from trimq.admin.pulling import Place
from trimq.codec.bodies.locks import MessageQueue
from trimq.spark.errors import WrongOption
from trimq.spark.planning.cluster import Cluster
from trimq.spark.positions import EARLIEST, Offsets, Position, QueueKey
from trimq.spark.queues import Bounds


def resolve(
    cluster: Cluster, position: Position, otherwise: str, bounds: Mapping[QueueKey, Bounds]
) -> Offsets:
    """The offset of each queue that a position means; `otherwise` is what is meant without one.

    Offsets that were given are not held against the bounds. At a time means: the first message
    that was stored then or later.
    """
    word = position.word or otherwise
    if word == "time":
        return {key: _at(cluster, key, position.millis, at) for key, at in bounds.items()}
    if word == "offsets":
        return _given(position.offsets, otherwise, bounds)
    earliest = word == "earliest"
    return {key: at.first if earliest else at.next for key, at in bounds.items()}


def _at(cluster: Cluster, key: QueueKey, millis: int, bounds: Bounds) -> int:
    if bounds.next <= bounds.first:
        return bounds.next
    queue = MessageQueue(topic=key[0], broker_name=key[1], queue_id=key[2])
    found = cluster.admin.search_offset(Place(queue, bounds.addr), millis)
    return min(max(found, bounds.first), bounds.next)


def _given(offsets: Offsets, otherwise: str, bounds: Mapping[QueueKey, Bounds]) -> Offsets:
    unknown = next((key for key in offsets if key not in bounds), None)
    if unknown is not None:
        topic, broker, queue = unknown
        raise WrongOption(
            f"offsets are given for queue {queue} of topic {topic!r} on broker {broker!r}, which is"
            " not among the queues that are read"
        )
    found: Offsets = {}
    for key, at in bounds.items():
        offset = offsets.get(key, EARLIEST if otherwise == "earliest" else -1)
        found[key] = offset if offset >= 0 else at.first if offset == EARLIEST else at.next
    return found
