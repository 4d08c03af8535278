"""Offsets behind the end of their queue: after a cut of the log, and at the start of a master."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.tables.pairs import SEPARATOR
from trimq.codec.names import LIGHT_QUEUE_ID

log = logging.getLogger("trimq.broker")


def lower(offsets: ConsumerOffsets, end_of: Callable[[str, int], int]) -> None:
    """The log was cut: nobody goes on behind a queue's end, or messages to come would be passed over."""
    for group, topic, queue_id, _, end in _behind(offsets, end_of):
        offsets.commit("cut", group, topic, queue_id, end)
    offsets.clear_pulls()


def clamp(offsets: ConsumerOffsets, end_of: Callable[[str, int], int]) -> None:
    """The same at the start of a master: it may have been a slave, to which its master's offsets came sooner than
    its log. Before the topics' guard knows anything."""
    for group, topic, queue_id, offset, end in _behind(offsets, end_of):
        log.warning(
            "offset behind its queue's end, its group goes on at the end: group=%s topic=%s queue=%d from=%d to=%d",
            group,
            topic,
            queue_id,
            offset,
            end,
        )
        offsets.move("start", group, topic, queue_id, end)


def begin_without(offsets: ConsumerOffsets, has_queues: Callable[[str], bool]) -> None:
    """At the start of a master: in a topic that has no queue at all, its folder being gone and its records too,
    messages get offsets from 0 on. Groups begin there, or they would pass over as many as they had read before."""
    for key, queues in list(offsets.committed.queues.items()):
        topic, _, group = key.partition(SEPARATOR)
        if has_queues(topic):
            continue
        for queue_id, offset in list(queues.items()):
            if offset > 0:
                log.warning(
                    "the queues are gone, a group begins anew: topic=%s queue=%d",
                    topic,
                    queue_id,
                )
                offsets.move("start", group, topic, queue_id, 0)
    light = offsets.light
    if light is not None:
        for key in [key for key, offset in light.offsets.items() if offset > 0]:
            if not has_queues(key.partition(SEPARATOR)[0]):
                light.commit(key, 0)


def _behind(
    offsets: ConsumerOffsets, end_of: Callable[[str, int], int]
) -> Iterator[tuple[str, str, int, int, int]]:
    """Group, topic, queue, offset and the queue's end, which is before it."""
    light = {} if offsets.light is None else offsets.light.offsets
    all_of_them = [
        *((key, list(queues.items())) for key, queues in offsets.committed.queues.items()),
        *((key, [(LIGHT_QUEUE_ID, offset)]) for key, offset in light.items()),
    ]
    for key, queues in all_of_them:
        topic, _, group = key.partition(SEPARATOR)
        for queue_id, offset in queues:
            if offset > (end := end_of(topic, queue_id)):
                yield group, topic, queue_id, offset, end
