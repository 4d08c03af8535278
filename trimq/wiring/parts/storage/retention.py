"""Deleting what is too old, by schedule or on request."""

from collections.abc import Iterator
from functools import partial

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.services import housekeeping
from trimq.broker.timers.service import WheelTimers
from trimq.broker.topics.part_cleaning import PartCleaning
from trimq.process.metrics import Sample
from trimq.processors.retention.clean_expired_consumequeue import CleanExpiredConsumequeue
from trimq.processors.retention.clean_unused_topic import CleanUnusedTopic
from trimq.processors.retention.delete_expired_commitlog import DeleteExpiredCommitlog
from trimq.store.message_store import MessageStore
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.messaging.topics import TopicTables


def part(
    context: Context, topics: TopicTables, offsets: ConsumerOffsets, timers: WheelTimers | None
) -> Part:
    """Before a file goes, `timers` looks for messages in it that still wait."""
    store, table = context.store, topics.table
    last_look = housekeeping.no_look if timers is None else timers.look_at
    parts_of_queues = PartCleaning(table.mappings, topics.static, store)
    return Part(
        name="retention",
        processors=[
            DeleteExpiredCommitlog(store.cleaning),
            CleanExpiredConsumequeue(table, offsets, store),
            CleanUnusedTopic(table, offsets, store),
        ],
        services={
            "delete old files": partial(
                housekeeping.delete_old_files, store, context.plan.store, last_look, context.clock
            ),
            "clean parts": partial(
                housekeeping.clean_parts, store.cleaning, parts_of_queues, context.clock
            ),
        },
        due=store.cleaning.next_due,
        samples=partial(_samples, store),
    )


def _samples(store: MessageStore) -> Iterator[Sample]:
    use = store.cleaning.use
    for path, share in (("commitlog", use.commit_log), ("consumequeue", use.consume_queue)):
        help_text = "Used part of the disk when last checked, 0 to 1."
        yield Sample("trimq_disk_used", help_text, "gauge", max(share, 0), {"path": path})
    full = int(store.cleaning.disk_full)
    yield Sample("trimq_disk_full", "1 while messages are refused because of it.", "gauge", full)
    for kind, count in (
        ("commitlog", store.cleaning.deleted_files),
        ("consumequeue", store.trimming.deleted_files),
    ):
        yield Sample("trimq_deleted_files", "Old files deleted.", "counter", count, {"kind": kind})
