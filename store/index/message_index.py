"""The message index: finds messages by key (IndexService).

Keys are collected as messages are written, entered into the last file's memory in batches, and
written to the disk with every checkpoint. Searches see all of them. What a crash destroys is added
again from the commit log.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from trimq.store.config import StoreConfig
from trimq.store.index.entries import Shape
from trimq.store.index.file import IndexFile
from trimq.store.index.keys import TAG_TYPE, KeyHashes, key_hash
from trimq.store.index.search import IndexSearch, Wanted
from trimq.store.index.writing import IndexWriting
from trimq.store.messages.message import Dispatched

# Messages whose keys are entered in one step: 1 to 2 ms.
MESSAGES_AT_ONCE: Final = 256


class Index:
    """`files` are in the order of their names; only the last one takes keys."""

    def __init__(self, config: StoreConfig, now_millis: Callable[[], int]) -> None:
        self._config = config
        self.directory = config.index
        self.shape = Shape(config.max_hash_slot_num, config.max_index_num)
        self.files: list[IndexFile] = []
        self.last_name = ""
        """No file has had a later one."""
        self._most_steps = config.max_index_steps or sys.maxsize
        self._now_millis = now_millis
        self._keys = KeyHashes()
        self._pending: list[Dispatched] = []
        self._writing: IndexWriting | None = None
        self._frozen: list[IndexFile] = []
        self._expired: list[str] = []

    @property
    def enabled(self) -> bool:
        """Whether it accepts keys now; it never learns of those that it did not accept."""
        return self._config.message_index_enable

    def forget_all(self) -> None:
        """As before anything was loaded or taken."""
        self.files = []
        self._pending = []
        self._writing = None
        self._frozen = []
        self._expired = []

    # --- taking keys

    def arrived(self, messages: list[Dispatched]) -> None:
        """A listener of the store."""
        if not self._config.message_index_enable:
            return
        self._pending += messages
        if len(self._pending) >= MESSAGES_AT_ONCE:
            self._enter()

    def add(self, message: Dispatched, skip: int) -> None:
        """As if it arrived now; its first `skip` keys are already in the index."""
        if skip:
            self._enter()
            self._pending.append(message)
            self._enter(skip)
        else:
            self.arrived([message])

    def step(self) -> bool:
        """Enter what was collected; True when more is left. Call it while nothing is being written."""
        self._end_writing()
        self._enter()
        return any([file.settle() for file in self.files])

    def _enter(self, skip: int = 0) -> None:
        """Enter what was collected, without the first `skip` keys."""
        if not self._pending:
            return
        self._end_finished_writing()
        batch, self._pending = self._pending, []
        hashes, owners = self._keys.of(batch)
        at = skip
        while at < len(hashes):
            at = self._last().put(hashes, owners, at)

    def _last(self) -> IndexFile:
        """The file that accepts keys, created when the previous one is full."""
        if self.files and not self.files[-1].is_full:
            return self.files[-1]
        before = self.files[-1].header if self.files else None
        name = file_name(self._now_millis())
        if name <= self.last_name:
            # Two files of one millisecond, or the hour that occurs twice in autumn.
            name = f"{int(self.last_name) + 1:017d}"
        self.last_name = name
        self.files.append(IndexFile.new(str(self.directory / name), self.shape, before))
        return self.files[-1]

    # --- searching

    def search(
        self, topic: str, key: str, max_count: int, begin: int, end: int, index_type: str = ""
    ) -> IndexSearch:
        """What to `run` in a worker thread. Type T looks for a tag, any other for a key."""
        self._enter()
        text = f"{topic}#{TAG_TYPE}#{key}" if index_type == TAG_TYPE else f"{topic}#{key}"
        wanted = Wanted(key_hash(text), min(max_count, self._config.max_msgs_num_batch), begin, end)
        wanted.steps_left = self._most_steps
        files = [file.search(wanted.key_hash) for file in reversed(self.files)]
        return IndexSearch(wanted, files)

    # --- writing

    def plan_writing(self) -> IndexWriting | None:
        """What to write to the disk, for a worker thread; None when there is nothing."""
        self._end_writing()
        self._enter()
        parts = []
        for file in self.files:
            writing = file.freeze()
            if writing is not None:
                parts.append(writing)
                self._frozen.append(file)
        if not parts and not self._expired:
            return None
        self._writing = IndexWriting(parts, self.end_timestamp, self._expired)
        self._expired = []
        return self._writing

    def _end_finished_writing(self) -> None:
        """The sooner it is called, the less there is to settle."""
        if self._writing is not None and self._writing.done:
            self._end_writing()
        for file in self._frozen:
            file.go_on()

    def _end_writing(self) -> None:
        if self._writing is None:
            return
        for file in self._frozen:
            file.thaw(self._writing.done)
        if not self._writing.done:
            self._expired += self._writing.expired
        self._writing = None
        self._frozen.clear()

    @property
    def end_timestamp(self) -> int:
        """No file ends later."""
        return max((file.header.end_timestamp for file in self.files), default=0)

    @property
    def unwritten_bytes(self) -> int:
        return sum(file.unwritten_bytes for file in self.files)

    # --- deleting

    def delete_before(self, min_physical_offset: int) -> list[str]:
        """Delete the files whose messages are all gone; the last one always stays.

        IndexService.deleteExpiredFile. They leave the disk with the next checkpoint, because
        removing a large file takes time.
        """
        self._end_finished_writing()
        count = 0
        for file in self.files[:-1]:
            if file.header.end_physical_offset >= min_physical_offset or not file.is_written:
                break
            count += 1
        deleted = [file.path for file in self.files[:count]]
        self._expired += deleted
        del self.files[:count]
        return deleted


def file_name(millis: int) -> str:
    """yyyyMMddHHmmssSSS in local time (UtilAll.timeMillisToHumanString)."""
    moment = time.strftime("%Y%m%d%H%M%S", time.localtime(millis // 1000))
    return f"{moment}{millis % 1000:03d}"
