"""Recovery of batch queues: the entries of the records that a scan of the commit log finds.

An entry that the checkpoint does not vouch for is removed when its queue is loaded and written
anew, so one that is there is as good as its record: the record's place in the log tells which are.
"""

from __future__ import annotations

from trimq.codec.batch_queue_entry import BatchQueueEntry
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.commit_log import CommitLog
from trimq.store.consume_queues import ConsumeQueues
from trimq.store.inner_batch import count_of
from trimq.store.message import Dispatched
from trimq.store.scan import LogScanner
from trimq.store.tags import TagCodes


class BatchRecovery:
    def __init__(self, log: CommitLog, queues: ConsumeQueues, tags: TagCodes) -> None:
        self._log = log
        self._queues = queues
        self._tags = tags
        self._collected: dict[tuple[str, int], list[BatchQueueEntry]] = {}
        # Queues that lack more than was scanned, and where the first scan has to begin that helps.
        self._behind: dict[BatchConsumeQueue, int] = {}

    def owns(self, topic: str) -> bool:
        return topic in self._queues.batches.topics

    def collect(self, record: Dispatched) -> None:
        row = self._collected.setdefault((record.topic, record.queue_id), [])
        row.append(entry_of(record))

    def settle(self, complete: bool) -> int:
        """Bring what was collected to the queues; how many entries were new.

        `complete`: nothing lies before it, so no queue can be behind.
        """
        count = 0
        for (topic, queue_id), row in self._collected.items():
            queue = self._queues.batches.get(topic, queue_id)
            for entry in row:
                if not complete and entry.base_offset > queue.max_offset > queue.min_offset:
                    last = queue.last()
                    self._behind[queue] = last.physical_offset if last is not None else 0
                    break
                count += self._add(queue, entry)
        self._collected = {}
        return count

    def catch_up(self, end: int) -> int:
        """Scan again for the queues that lack more than the checkpoint promised."""
        if not self._behind:
            return 0
        count = 0
        start = max(min(self._behind.values()), self._log.min_offset)
        for record in LogScanner(self._log, start, end, self._tags):
            if self.owns(record.topic):
                queue = self._queues.batches.get(record.topic, record.queue_id)
                if queue in self._behind:
                    count += self._add(queue, entry_of(record))
        self._behind = {}
        return count

    def _add(self, queue: BatchConsumeQueue, entry: BatchQueueEntry) -> int:
        last = queue.last()
        if last is not None and entry.physical_offset <= last.physical_offset:
            return 0
        queue.append_again(entry)
        self._queues.appended(queue)
        return 1


def entry_of(record: Dispatched) -> BatchQueueEntry:
    return BatchQueueEntry(
        record.physical_offset,
        record.size,
        record.tags_code,
        record.store_timestamp,
        record.queue_offset,
        count_of(record.properties),
    )
