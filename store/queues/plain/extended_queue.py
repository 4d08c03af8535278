"""A plain queue whose tags codes are in the units of an extension (ConsumeQueueExt).

If `enableConsumeQueueExt` is set, entries are written with units; a queue that has an extension is
read with it in any case.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable

from trimq.codec.entries.extension_unit import MAX_ADDRESS
from trimq.codec.entries.queue import ENTRY_SIZE, pack, parse_all
from trimq.store.disk.files import OpenFiles
from trimq.store.messages.message import Dispatched
from trimq.store.queues.files.loading import BLOCK
from trimq.store.queues.files.removal import Removal
from trimq.store.queues.files.writing import Writing
from trimq.store.queues.plain.consume_queue import (
    ConsumeQueue,
    ConsumeQueueKind,
    FoundConsumeEntries,
)
from trimq.store.queues.plain.extension import QueueExtension
from trimq.store.queues.queue import FoundEntries, Queue
from trimq.store.queues.reading.pull import Pull


class FoundExtendedEntries(FoundConsumeEntries):
    """With the records' store timestamps, for their units."""

    __slots__ = ("times",)

    def __init__(self, record: Dispatched) -> None:
        super().__init__(record)
        self.times: array[int] = array("q")

    def add(self, record: Dispatched) -> bool:
        added = super().add(record)
        if added:
            self.times.append(record.store_timestamp)
        return added

    def extend(self, later: FoundEntries) -> None:
        assert isinstance(later, FoundExtendedEntries)
        super().extend(later)
        self.times += later.times


class BitMaps:
    """Which filters a message matches when it is stored, as bits of its unit; None: units have no map."""

    __slots__ = ("calculate",)

    def __init__(self) -> None:
        self.calculate: Callable[[Dispatched], bytes] | None = None


class ExtendedConsumeQueue(ConsumeQueue):
    __slots__ = ("_bit_maps", "_extension", "_writes_units")

    def __init__(
        self,
        topic: str,
        queue_id: int,
        directory: str,
        file_size: int,
        open_files: OpenFiles,
        extension: QueueExtension,
        writes_units: bool,
        bit_maps: BitMaps | None = None,
    ) -> None:
        super().__init__(topic, queue_id, directory, file_size, open_files)
        self._extension = extension
        self._bit_maps = BitMaps() if bit_maps is None else bit_maps
        self._writes_units = writes_units

    # --- writing

    def prepare(self) -> None:
        """Make the extension ready for the units of new entries."""
        if self._writes_units:
            self._extension.go_behind(self._last_address())

    def append(self, records: list[Dispatched], start: int, end: int) -> None:
        """ConsumeQueue.putMessagePositionInfoWrapper."""
        if not self._writes_units:
            super().append(records, start, end)
            return
        bit_map_of = self._bit_maps.calculate
        for index in range(start, end):
            record = records[index]
            bit_map = bit_map_of(record) if bit_map_of is not None else b""
            address = self._extension.put(record.tags_code, record.store_timestamp, bit_map)
            self.files.append(pack(record.physical_offset, record.size, address))
            self.max_offset += 1

    def write_out(self) -> None:
        # Before the entries that point into it.
        self._extension.write_out()
        super().write_out()

    def begin_writing(self, writing: Writing) -> None:
        self._extension.begin_writing(writing)
        super().begin_writing(writing)

    def end_writing(self) -> bool:
        is_whole = self._extension.end_writing()
        return super().end_writing() and is_whole

    def _last_address(self) -> int | None:
        """The address in the last entry that has one; no entry points to the units after it."""
        per_file = self.files.file_size // ENTRY_SIZE
        end = self.max_offset
        while end > self.min_offset:
            start = max(self.min_offset, end - BLOCK, end - 1 - (end - 1) % per_file)
            for _, _, tags_code in reversed(parse_all(self.entries(start, end - start))):
                if tags_code <= MAX_ADDRESS:
                    return tags_code
            end = start
        return None

    # --- reading

    def tags_code(self, stored: int) -> int:
        """An address stands for the content of its unit, or for itself if that is lost."""
        if stored > MAX_ADDRESS:
            return stored
        found = self._extension.tags_code(stored)
        return stored if found is None else found

    def is_wanted(self, tags_code: int, pull: Pull) -> bool:
        """By the bit map of its unit too, if the pull's filter heeds maps."""
        sieve = pull.sieve
        if sieve is not None and sieve.filter.map_bytes and tags_code <= MAX_ADDRESS:
            found = self._extension.bit_map(tags_code, sieve.filter.map_bytes)
            if found is not None and not sieve.filter.may_match(found[0], found[1]):
                return False
        return super().is_wanted(tags_code, pull)

    # --- restoring, trimming, deleting

    def add_restored(self, found: FoundEntries, entries: bytes) -> None:
        if not self._writes_units:
            super().add_restored(found, entries)
            return
        assert isinstance(found, FoundExtendedEntries)
        newest = found.times[len(found.times) - len(entries) // ENTRY_SIZE :]
        for (place, size, tags_code), time in zip(parse_all(entries), newest, strict=True):
            self.files.append(pack(place, size, self._extension.put(tags_code, time)))
            self.max_offset += 1

    def delete_expired_file(self) -> str:
        """No entry points to units before that of the first entry (ConsumeQueueExt.truncateByMinAddress)."""
        first = self.entry(self.min_offset)
        if first is not None and first.tags_code <= MAX_ADDRESS:
            self._extension.delete_before(first.tags_code)
        return super().delete_expired_file()

    def truncate(self, max_offset: int) -> None:
        super().truncate(max_offset)
        self.prepare()

    def delete(self) -> None:
        super().delete()
        self._extension.delete()

    def leave(self, removal: Removal) -> None:
        super().leave(removal)
        self._extension.leave(removal)


class ExtendedConsumeQueueKind(ConsumeQueueKind):
    """Plain queues, those of them with an extension that have one or, if `writes_units`, all."""

    __slots__ = ("_extension_size", "_writes_units", "bit_maps")

    def __init__(
        self,
        roots: list[str],
        file_size: int,
        open_files: OpenFiles,
        extension_size: int,
        writes_units: bool,
    ) -> None:
        """`roots`: of the queues and of their extensions."""
        self.bit_maps = BitMaps()
        self._extension_size = extension_size
        self._writes_units = writes_units
        super().__init__(roots, file_size, open_files)

    def make(self, topic: str, queue_id: int) -> Queue:
        directory = f"{self.roots[1]}/{topic}/{queue_id}"
        if not (self._writes_units or os.path.isdir(directory)):
            return super().make(topic, queue_id)
        extension = QueueExtension(directory, self._extension_size, self.open_files)
        return ExtendedConsumeQueue(
            topic,
            queue_id,
            f"{self.directory_of(topic)}/{queue_id}",
            self.file_size,
            self.open_files,
            extension,
            self._writes_units,
            self.bit_maps,
        )

    def begin(self, record: Dispatched) -> FoundEntries:
        if self._writes_units:
            return FoundExtendedEntries(record)
        return super().begin(record)
