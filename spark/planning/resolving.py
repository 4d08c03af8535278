"""The offsets that a position means: a word, a time, or offsets that were given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from trimq.spark.errors import WrongOption
from trimq.spark.options.positions import EARLIEST, Offsets, Position, QueueKey, Times
from trimq.spark.options.values import ReadOptions
from trimq.spark.planning.cluster import Cluster
from trimq.spark.planning.searching import ends, search
from trimq.spark.queues import QueueEnds


def resolve(
    cluster: Cluster, position: Position, otherwise: str, bounds: Mapping[QueueKey, QueueEnds]
) -> Offsets:
    """The offset of each queue that a position means; `otherwise` is the default without one.

    Given offsets are not checked against the bounds. A time means the first message stored at or
    after it; if there is none, the queue's end, or WrongOption if the position is strict.
    """
    word = position.word or otherwise
    if word in ("time", "times"):
        _check_known(position.times, bounds)
        return _at_times(cluster, position, otherwise, bounds)
    if word == "offsets":
        return _given(position.offsets, otherwise, bounds)
    return {key: _plain(word, at) for key, at in bounds.items()}


def _plain(word: str, bounds: QueueEnds) -> int:
    return bounds.first if word == "earliest" else bounds.next


def _at_times(
    cluster: Cluster, position: Position, otherwise: str, bounds: Mapping[QueueKey, QueueEnds]
) -> Offsets:
    times = {key: millis for key in bounds if (millis := position.time_of(key)) is not None}
    full = {key: at for key, at in times.items() if bounds[key].next > bounds[key].first}
    places = search(cluster.server_requests, full, bounds)
    found: Offsets = {}
    for key, at in bounds.items():
        if key in times:
            found[key] = min(max(places.get(key, at.next), at.first), at.next)
        else:
            found[key] = _plain(otherwise, at)
    if position.strict:
        # A queue without messages has been read, whatever time is wanted: topics that are made on the first send mostly
        # have some.
        late = [key for key in full if found[key] == bounds[key].next]
        _check_late(ends(cluster.server_requests, late, bounds), times, bounds)
    return found


def _check_late(now: Offsets, times: Offsets, bounds: Mapping[QueueKey, QueueEnds]) -> None:
    for key, end in now.items():
        # A message may have come since the bounds were asked for: then it is at their end.
        if end > bounds[key].next:
            continue
        millis = times[key]
        moment = datetime.fromtimestamp(millis / 1000, UTC).isoformat().replace("+00:00", "Z")
        raise WrongOption(
            f"queue {key[2]} of topic {key[0]!r} on broker {key[1]!r} has no message that was stored at"
            f" {moment} ({millis}) or later: startingOffsetsByTimestampStrategy=latest begins at its end"
        )


def _check_known(times: Times, bounds: Mapping[QueueKey, QueueEnds]) -> None:
    known = {key[:length] for key in bounds for length in (1, 2, 3)}
    wrong = next((place for place in times if place not in known), None)
    if wrong is not None:
        named = ", ".join(map(str, wrong))
        raise WrongOption(
            f"a time is given for {named}, which is not among the queues that are read"
        )


def assigned(
    queues: frozenset[QueueKey] | None, bounds: dict[QueueKey, QueueEnds]
) -> dict[QueueKey, QueueEnds]:
    """The wanted ones of the queues: all, or the chosen ones that exist."""
    if queues is None:
        return bounds
    return {key: at for key, at in bounds.items() if key in queues}


def named(options: ReadOptions) -> set[QueueKey]:
    """The queues that options name: if one of their brokers is away, that has to be known."""
    found = (
        set(options.queues or ()) | options.starting.offsets.keys() | options.ending.offsets.keys()
    )
    return {key for key in found if not options.topics or key[0] in options.topics}


def check_assigned(
    queues: frozenset[QueueKey] | None, bounds: Mapping[QueueKey, QueueEnds]
) -> None:
    """WrongOption when a chosen queue does not exist."""
    missing = sorted(key for key in queues or () if key not in bounds)
    if missing:
        topic, broker, queue = missing[0]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise WrongOption(
            f"option 'assign' has queue {queue} of topic {topic!r} on broker {broker!r}{more}, "
            f"which does not exist or may not be read"
        )


def _given(offsets: Offsets, otherwise: str, bounds: Mapping[QueueKey, QueueEnds]) -> Offsets:
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
