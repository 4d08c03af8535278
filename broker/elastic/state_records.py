"""A topic's map as records and answers have it: what is stored is read back the same; what operators see says less."""

from collections.abc import Iterable

from trimq.broker.elastic.model import Change, TopicMap
from trimq.codec.bodies.elastic import ElasticChange, ElasticState
from trimq.codec.bodies.elastic_admin import ElasticVersion


def record_of(topic: str, state: TopicMap) -> ElasticState:
    """What is appended to the log."""
    return ElasticState(
        topic=topic,
        version=state.version,
        old_queues=state.old_queues,
        queues=list(state.queues),
        changes=[
            ElasticChange(
                version=change.version,
                ends=dict(change.ends),
                starts=dict(change.starts),
                moved=change.moved,
                told=sorted(change.told),
                at=change.at,
            )
            for change in state.changes
        ],
    )


def state_of(record: ElasticState) -> TopicMap:
    """What `record_of` was given."""
    changes: Iterable[Change] = (
        Change(one.version, one.ends, one.starts, one.moved, frozenset(one.told), one.at)
        for one in record.changes
    )
    return TopicMap(tuple(record.queues), record.version, tuple(changes), record.old_queues)


def versions_of(state: TopicMap) -> list[ElasticVersion]:
    """The remembered changes, as an operator is shown them."""
    return [
        ElasticVersion(
            version=change.version,
            ends=dict(change.ends),
            starts=dict(change.starts),
            moved=change.moved,
        )
        for change in state.changes
    ]
