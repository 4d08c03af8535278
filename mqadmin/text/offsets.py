"""The tables that the commands that move groups print."""

from collections.abc import Sequence
from typing import Final

from trimq.admin.groups.offsets import CommittedReset
from trimq.codec.bodies.locks import MessageQueue
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import cut, hash_order, queue_hash

_RESET: Final = "{:<40}  {:<40}  {:<40}"
_COMMITTED: Final = "{:<20}  {:<20}  {:<20}  {:<20}  {:<20}  {:<20}"


def show_reset(run: Run, offsets: dict[MessageQueue, int]) -> None:
    """New offsets by queue, in the order of Java's `HashMap`."""
    run.out.head(_RESET.format("#brokerName", "#queueId", "#offset"))
    for queue in hash_order(offsets, queue_hash):
        offset = offsets[queue]
        line = _RESET.format(cut(queue.broker_name, 32), queue.queue_id, offset)
        run.out.row(line, {"queue": queue, "offset": offset})


def show_committed(run: Run, moved: Sequence[CommittedReset], last_title: str) -> None:
    """Committed offsets before and after; the last column has two names."""
    titles = ("#brokerName", "#queueId", "#brokerOffset", "#consumerOffset", "#timestampOffset")
    run.out.head(_COMMITTED.format(*titles, last_title))
    for one in moved:
        columns = (one.broker_offset, one.consumer_offset, one.target, one.offset)
        line = _COMMITTED.format(cut(one.queue.broker_name, 32), one.queue.queue_id, *columns)
        run.out.row(line, one)


def in_java_order(moved: Sequence[CommittedReset]) -> list[CommittedReset]:
    """Queues of a group that had read the topic come in the order of a hash table."""
    if any(one.is_first for one in moved):
        return list(moved)
    by_queue = {one.queue: one for one in moved}
    return [by_queue[queue] for queue in hash_order(by_queue, queue_hash)]
