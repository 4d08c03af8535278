"""Stores with what few brokers have: batch queues, extensions of queues, compacted topics."""

from __future__ import annotations

import time
from typing import Final

from compat_tests.store.recorded.asking import Asking, pull_at
from compat_tests.store.recorded.author import Author, sending, sending_batch
from compat_tests.store.recorded.recipe import SMALL, TIMELESS, Recipe, texts
from compat_tests.wire.asks import queue_question
from compat_tests.wire.records import batch_body, read_records
from tests.patience import PATIENCE

BATCHES: Final = "Batches"
EXTENDED: Final = "Extended"
TABLE: Final = "Table"
MAX: Final = 30
KINDS: Final = {
    **TIMELESS,
    **SMALL,
    "mapperFileSizeBatchConsumeQueue": str(46 * 20),
    "enableConsumeQueueExt": "true",
    "mappedFileSizeConsumeQueueExt": "1000",
}
COMPACTED: Final = {
    **TIMELESS,
    "compactionCqMappedFileSize": "460",
    "compactionMappedFileSize": "2300",
    "compactionScheduleInternal": "300",
}
KEYS: Final = 5
# One of each key, and the last file.
MOST: Final = KEYS + 9


def items(number: int, count: int) -> bytes:
    return batch_body(
        (b"%d of %d" % (at, number), {"UNIQ_KEY": f"U{number}-{at}"}) for at in range(count)
    )


def write_kinds(author: Author) -> None:
    author.create(EXTENDED, 2)
    author.create(BATCHES, 2, attributes="+queue.type=BatchCQ")
    for number in range(80):
        author.send(EXTENDED, number % 2, b"%d" % number, texts(number))
    for number in range(60):
        outer = {"UNIQ_KEY": f"B{number}", "TAGS": f"Tag{number % 3}"}
        if number % 5 == 0:
            # Such a batch is taken apart by nobody.
            del outer["UNIQ_KEY"]
        author.send_batch(BATCHES, number % 2, items(number, 1 + number % 7), outer)
    author.settle()


def ask_kinds(author: Author, asking: Asking) -> None:
    for topic, queues in author.queues.items():
        for queue_id in range(queues):
            asking.queue(topic, queue_id)


def go_on_with_kinds(author: Author, asking: Asking) -> None:
    outer = {"UNIQ_KEY": "B100", "TAGS": "Tag1"}
    for queue_id in range(2):
        asking.show(sending(EXTENDED, queue_id, b"goes on", texts(100)), "sent")
        asking.show(sending_batch(BATCHES, queue_id, items(100, 3), outer), "sent")
        author.wait_for(EXTENDED, queue_id, 1)
        author.wait_for(BATCHES, queue_id, 3)
        for topic in (EXTENDED, BATCHES):
            end = author.ends[topic, queue_id]
            asking.show(queue_question(MAX, topic=topic, queueId=queue_id))
            asking.show(pull_at(topic, queue_id, end, subscription="Tag1"), "timeless")


def write_compacted(author: Author) -> None:
    author.create(TABLE, 1, attributes="+cleanup.policy=COMPACTION")
    for number in range(60):
        key = "rare" if number == 7 else f"key{number % KEYS}"
        known = {"UNIQ_KEY": f"U{number:04d}", "KEYS": key, "TAGS": "Tag1"}
        author.send(TABLE, 0, b"body of %03d" % number, known)
    author.settle()
    wait_until_thin(author)


def wait_until_thin(author: Author) -> None:
    """Nothing more is rewritten: both rewrite a queue every second or so."""
    deadline = time.monotonic() + PATIENCE
    before: list[int] = []
    while time.monotonic() < deadline:
        time.sleep(2.5)
        now = contents(author)
        if now == before and 0 < len(now) <= MOST + 1 and now[-1] == 59:
            return
        before = now
    raise TimeoutError(f"it is rewritten for ever: {before}")


def contents(author: Author) -> list[int]:
    found: list[int] = []
    while True:
        following = found[-1] + 1 if found else 0
        reply = author.stage.ask(pull_at(TABLE, 0, following))
        if reply.code != 0:
            return found
        found += [record.queue_offset for record in read_records(reply.body)]


def ask_compacted(_: Author, asking: Asking) -> None:
    asking.queue(TABLE, 0)
    for offset in (7, 8, 30, 59, 60, 61):
        asking.show(pull_at(TABLE, 0, offset), "messages")


def go_on_with_compacted(author: Author, asking: Asking) -> None:
    known = {"UNIQ_KEY": "U0060", "KEYS": "key0", "TAGS": "Tag1"}
    asking.show(sending(TABLE, 0, b"goes on", known), "sent")
    author.wait_for(TABLE, 0, 1)
    asking.show(queue_question(MAX, topic=TABLE, queueId=0))


STORES: Final = (
    Recipe("kinds of queues", KINDS, write_kinds, ask_kinds, go_on_with_kinds),
    Recipe("kinds of queues, killed", KINDS, write_kinds, ask_kinds, go_on_with_kinds, kill=True),
    Recipe("compacted", COMPACTED, write_compacted, ask_compacted, go_on_with_compacted),
)
