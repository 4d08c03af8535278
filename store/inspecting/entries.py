"""Inspecting files of entries with one fixed size: consume queues, timer log and timer wheel.

Entries fill a file from its start, zeros follow; in the timer wheel any slot may be zero.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

from trimq.codec.entries.extension_unit import FIRST_ADDRESS, MAX_ADDRESS
from trimq.codec.entries.queue import FILLER_SIZE, pack_offset
from trimq.codec.entries.timer import MAGIC_DELETE, MAGIC_ROLL, peek_timer
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY, QUEUE_ENTRY
from trimq.codec.layouts.timer import TIMER_RECORD, TIMER_SLOT
from trimq.codec.records.record import MAGIC_BLANK
from trimq.store.inspecting.items import End, Item, Reason, Selection
from trimq.store.inspecting.kinds import Kind, base_of
from trimq.store.inspecting.sparse_file import SparseFile


class Layout:
    """How the entries of one kind of file are declared, found and filtered."""

    def __init__(self, name: str, struct: Any, offset_at: int, fills: bool) -> None:
        self.name = name
        self.struct = struct
        self.size: int = struct.sizeof()
        self.offset_at = offset_at
        """Where in an entry the physical offset is; -1: it has none."""
        self.fills = fills
        """Entries are consecutive: the first zero entry ends the file."""


LAYOUTS: Final = {
    Kind.CONSUME_QUEUE: Layout("queue entry", QUEUE_ENTRY, 0, True),
    Kind.BATCH_CONSUME_QUEUE: Layout("batch entry", BATCH_QUEUE_ENTRY, 0, True),
    Kind.TIMER_LOG: Layout("timer record", TIMER_RECORD, 28, True),
    Kind.TIMER_WHEEL: Layout("timer slot", TIMER_SLOT, -1, False),
}


def inspect_entries(paths: list[Path], kind: Kind, selection: Selection) -> Iterator[Item | End]:
    """The files of one queue or log after another; of every queue only the last file's end counts."""
    layout = LAYOUTS[kind]
    for at, path in enumerate(paths):
        with SparseFile(path) as file:
            end = yield from _Reading(file, kind, layout, selection).items()
        last = at + 1 == len(paths) or paths[at + 1].parent != path.parent
        if last or end.reason is not Reason.END_OF_FILE:
            yield end


class _Reading:
    """One file from its first wanted entry on."""

    def __init__(self, file: SparseFile, kind: Kind, layout: Layout, selection: Selection) -> None:
        self._file = file
        self._kind = kind
        self._layout = layout
        self._base = (base_of(file.path) or 0) // layout.size
        low, high = selection.offsets or (selection.start, selection.end)
        if kind is Kind.TIMER_LOG:
            # Named and addressed by bytes, as its records address each other.
            self._base = base_of(file.path) or 0
        self._low = low
        self._high = high
        self._wanted = b""
        if selection.physical_offset is not None:
            self._wanted = pack_offset(selection.physical_offset)

    def items(self) -> Generator[Item, None, End]:
        file, layout, size = self._file, self._layout, self._layout.size
        position = self._first_position()
        blank = bytes(size)
        while position + size <= file.size:
            data = file.read(position, size)
            if data is None:
                break
            if data == blank:
                if layout.fills:
                    return self._zeros(position)
                position = file.skip_zeros(position) // size * size
                continue
            number = self._number(position)
            if self._high is not None and number > self._high:
                return End(file.path, position, Reason.RANGE, f"up to {self._high} as asked for")
            stop = self._timer_stop(position, data)
            if stop is not None:
                return stop
            if self._is_wanted(data):
                yield Item(layout.name, file.path, position, number, self._fields(data))
            position += size
        return self._end_of_file(position)

    def _first_position(self) -> int:
        if self._low is None:
            return 0
        ahead = max(self._low - self._base, 0)
        if self._kind is Kind.TIMER_LOG:
            return -(-ahead // self._layout.size) * self._layout.size
        return ahead * self._layout.size

    def _number(self, position: int) -> int:
        if self._kind is Kind.TIMER_LOG:
            return self._base + position
        return self._base + position // self._layout.size

    def _is_wanted(self, data: bytes) -> bool:
        at = self._layout.offset_at
        return not self._wanted or (at >= 0 and data[at : at + 8] == self._wanted)

    def _timer_stop(self, position: int, data: bytes) -> End | None:
        """A blank ends a file of the timer log; anything else of a wrong size is damage."""
        if self._kind is not Kind.TIMER_LOG:
            return None
        size, magic = peek_timer(data)
        if magic == MAGIC_BLANK:
            text = f"a blank of {size} bytes: the rest of the file is empty"
            return End(self._file.path, position, Reason.END_OF_FILE, text)
        if size != self._layout.size:
            text = f"a record of {size} bytes, where all have {self._layout.size}"
            return End(self._file.path, position, Reason.DAMAGE, text)
        return None

    def _zeros(self, position: int) -> End:
        file = self._file
        data = file.skip_zeros(position)
        if data >= file.size:
            text = f"zeros up to the end of the file: no more {self._layout.name} in it"
            return End(file.path, position, Reason.ZEROS, text)
        resume = self._number(data // self._layout.size * self._layout.size)
        text = f"zeros up to byte {data} and then something else, from number {resume} on"
        return End(file.path, position, Reason.DAMAGE, text, resume=resume)

    def _end_of_file(self, position: int) -> End:
        left = self._file.size - position
        if left > 0:
            text = f"{left} bytes are too few for another {self._layout.name}"
            return End(self._file.path, position, Reason.DAMAGE, text)
        return End(self._file.path, self._file.size, Reason.END_OF_FILE, "the file ends here")

    def _fields(self, data: bytes) -> dict[str, Any]:
        parsed = self._layout.struct.parse(data)
        fields = {key: value for key, value in parsed.items() if not key.startswith("_")}
        if self._kind is Kind.CONSUME_QUEUE:
            fields |= _queue_notes(fields)
        if self._kind is Kind.TIMER_LOG:
            fields["meaning"] = timer_magic(fields["magic"])
        return fields


def _queue_notes(fields: dict[str, Any]) -> dict[str, Any]:
    """What the numbers of an entry mean when it is not an ordinary one."""
    if fields["size"] == FILLER_SIZE and fields["physical_offset"] == 0:
        return {"meaning": "filler: the queue begins after it"}
    if fields["tags_code"] <= MAX_ADDRESS:
        address = fields["tags_code"] - FIRST_ADDRESS
        return {"meaning": f"tags code in consumequeue_ext at {address}"}
    return {}


def timer_magic(magic: int) -> str:
    """TimerMessageStore: bits on top of the default."""
    words = ["roll"] if magic & MAGIC_ROLL else []
    if magic & MAGIC_DELETE:
        words.append("delete")
    return " and ".join(words) or "deliver"
