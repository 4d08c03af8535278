"""All compacted queues of a store: where they are, and what is left of them when their topic goes."""

from __future__ import annotations

import logging
import shutil
from typing import Final

from trimq.store.compaction.pair import Sizes
from trimq.store.compaction.positions import Positions
from trimq.store.compaction.queue import CompactedQueue
from trimq.store.compaction.rewriting import rewrite
from trimq.store.config import StoreConfig
from trimq.store.disk.files import make_durable_directory, sync_directory

log = logging.getLogger("trimq.store")

# Bytes of a name in a folder.
_LONGEST: Final = 255
# Bytes that the table of keys takes for each, measured for up to four million; RocketMQ's takes 24.
_KEY_BYTES: Final = 140


class CompactionFiles:
    """`load` once, then queues by topic and id."""

    def __init__(self, config: StoreConfig) -> None:
        root = config.root / "compaction"
        self._roots = (root / "compactionLog", root / "compactionCq")
        self._sizes = Sizes.of_settings(
            config.compaction_mapped_file_size, config.compaction_cq_mapped_file_size
        )
        self._most_keys = max(config.max_offset_map_size // _KEY_BYTES, 100)
        self._positions = Positions(root / "position-checkpoint")

    def load(self) -> list[tuple[str, int]]:
        """Read the positions; the topics and ids of the queues that there are. Blocks."""
        self._positions.load()
        log_root = self._roots[0]
        if not log_root.is_dir():
            return []
        return [
            (topic.name, int(queue.name))
            for topic in sorted(log_root.iterdir())
            if topic.is_dir()
            for queue in sorted(topic.iterdir())
            if queue.name.isdigit()
        ]

    def open(self, topic: str, queue_id: int) -> CompactedQueue:
        """The queue as it is in the files, or a new one. Blocks. StoreDamaged."""
        folders = (self._roots[0] / topic / str(queue_id), self._roots[1] / topic / str(queue_id))
        for folder in folders:
            make_durable_directory(folder)
        queue = CompactedQueue(folders, self._sizes)
        queue.load()
        return queue

    def rewrite(self, topic: str, queue_id: int, queue: CompactedQueue) -> bool:
        """Keep the newest of each key; whether there is more to do at once. Blocks. OSError."""
        before = self._positions.get(topic, queue_id)
        after = rewrite(queue, before, self._most_keys)
        if after == before:
            return False
        self._positions.put(topic, queue_id, after)
        return True

    def cut(self, topic: str, queue_id: int, queue: CompactedQueue, offset: int) -> None:
        """Messages from this queue offset on are gone from the log. Blocks. OSError."""
        if self._positions.get(topic, queue_id) >= offset:
            self._positions.put(topic, queue_id, offset - 1)
        queue.cut(offset)

    def has(self, topic: str) -> bool:
        """Whether there are files of this topic."""
        return _is_plain(topic) and any((root / topic).is_dir() for root in self._roots)

    def delete_topic(self, topic: str, queue_ids: list[int]) -> None:
        """Unlike RocketMQ, which leaves the files and refuses what a new topic of that name gets. Blocks."""
        self._positions.forget(topic, queue_ids)
        for root in self._roots:
            if _is_plain(topic) and (root / topic).is_dir():
                shutil.rmtree(root / topic)
                sync_directory(root)


def _is_plain(topic: str) -> bool:
    """Whether it can be a folder's name, and only that: clients may ask for the deletion of any."""
    plain = topic not in ("", ".", "..") and "/" not in topic and "\0" not in topic
    return plain and len(topic.encode(errors="replace")) <= _LONGEST
