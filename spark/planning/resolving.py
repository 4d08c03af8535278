"""The offsets that a position means: a word, a time, or offsets that were given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from trimq.admin.pulling import Place
from trimq.codec.bodies.locks import MessageQueue
from trimq.spark.errors import WrongOption
from trimq.spark.planning.cluster import Cluster
from trimq.spark.positions import EARLIEST, Offsets, Position, QueueKey, Times
from trimq.spark.queues import Bounds


def resolve(
    cluster: Cluster, position: Position, otherwise: str, bounds: Mapping[QueueKey, Bounds]
) -> Offsets:
    """The offset of each queue that a position means; `otherwise` is what is meant without one.

    Offsets that were given are not held against the bounds. At a time means: the first message
    that was stored then or later; where there is none, the queue's end, or WrongOption if the
    position is strict.
    """
    word = position.word or otherwise
    if word in ("time", "times"):
        _check_known(position.times, bounds)
        return {key: _at_time(cluster, position, key, at, otherwise) for key, at in bounds.items()}
    if word == "offsets":
        return _given(position.offsets, otherwise, bounds)
    return {key: _plain(word, at) for key, at in bounds.items()}


def _plain(word: str, bounds: Bounds) -> int:
    return bounds.first if word == "earliest" else bounds.next


def _at_time(
    cluster: Cluster, position: Position, key: QueueKey, bounds: Bounds, otherwise: str
) -> int:
    millis = position.time_of(key)
    if millis is None:
        return _plain(otherwise, bounds)
    place = Place(MessageQueue(topic=key[0], broker_name=key[1], queue_id=key[2]), bounds.addr)
    found = bounds.next
    if bounds.next > bounds.first:
        found = min(max(cluster.admin.search_offset(place, millis), bounds.first), bounds.next)
    # A message may have come since the bounds were asked for: then it is at their end.
    if position.strict and found == bounds.next and cluster.admin.max_offset(place) <= found:
        moment = datetime.fromtimestamp(millis / 1000, UTC).isoformat().replace("+00:00", "Z")
        raise WrongOption(
            f"queue {key[2]} of topic {key[0]!r} on broker {key[1]!r} has no message that was stored at"
            f" {moment} ({millis}) or later: startingOffsetsByTimestampStrategy=latest begins at its end"
        )
    return found


def _check_known(times: Times, bounds: Mapping[QueueKey, Bounds]) -> None:
    known = {key[:length] for key in bounds for length in (1, 2, 3)}
    wrong = next((place for place in times if place not in known), None)
    if wrong is not None:
        named = ", ".join(map(str, wrong))
        raise WrongOption(
            f"a time is given for {named}, which is not among the queues that are read"
        )


def assigned(
    queues: frozenset[QueueKey] | None, bounds: dict[QueueKey, Bounds]
) -> dict[QueueKey, Bounds]:
    """Those of the queues that are wanted: all, or the chosen ones that there are."""
    if queues is None:
        return bounds
    return {key: at for key, at in bounds.items() if key in queues}


def check_assigned(queues: frozenset[QueueKey] | None, bounds: Mapping[QueueKey, Bounds]) -> None:
    """WrongOption when a chosen queue is not there."""
    missing = sorted(key for key in queues or () if key not in bounds)
    if missing:
        topic, broker, queue = missing[0]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise WrongOption(
            f"option 'assign' has queue {queue} of topic {topic!r} on broker {broker!r}{more}, which"
            " is not there, or may not be read"
        )


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
