"""The records of a pull, from the commit log to a reply in as few steps as are worthwhile.

Neighbours in a queue lie apart in the log: between them are the messages of the other queues.
Records that are close together are asked for, or read, in one piece; a system call costs as much as
copying about ten KiB.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trimq.store import native
from trimq.store.log.commit_log import CommitLog
from trimq.store.native.extents import first_offset
from trimq.store.reading.pulls import ReadResult

Buffer = bytes | bytearray
Extents = list[tuple[int, int]]
_LARGEST_GAP: Final = 8 * 1024
_LARGEST_PIECE: Final = 512 * 1024
# Above that, views cost less than a copy.
_MOST_JOINED: Final = 128 * 1024
# The messages of a queue among dozens are this far apart.
_LARGEST_SPAN: Final = 4 * 1024 * 1024


def piece_of(extents: Extents, index: int, file_end: int) -> tuple[int, int]:
    """One piece that begins with the extent at `index`: where it ends, and the extent after it."""
    start, size = extents[index]
    end = start + size
    count = len(extents)
    after = index + 1
    while after < count:
        offset, size = extents[after]
        # What follows must not be before it, far after it, or in another file.
        if (
            offset < end
            or offset - end > _LARGEST_GAP
            or offset >= file_end
            or offset + size - start > _LARGEST_PIECE
        ):
            break
        end = offset + size
        after += 1
    return end, after


def load_now(log: CommitLog, extents: Extents) -> list[Buffer] | None:
    """Copies of the extents, (physical offset, bytes); None when that would wait for the disk."""
    buffers: list[Buffer] = []
    count = len(extents)
    index = 0
    while index < count:
        start = extents[index][0]
        end, after = piece_of(extents, index, log.next_file(start))
        data = log.read_now(start, end - start)
        if data is None:
            return None
        for offset, size in extents[index:after]:
            buffers.append(data[offset - start : offset - start + size])
        index = after
    return buffers


def join_now(log: CommitLog, found: ReadResult) -> bytes | None:
    """A copy of all that is found, made in C; None unless it is in memory, not too far apart and little.

    Each view costs as much as copying half a KiB: to make, to hand to the kernel, to discard.
    """
    try:
        return _joined(log, found)
    except OSError:
        # No address space or no mappings left: the loop may still read them.
        return None


def _joined(log: CommitLog, found: ReadResult) -> bytes | None:
    if not found.packed or found.byte_count > _MOST_JOINED:
        return None
    start = first_offset(found.packed)
    size = found.end - start
    if not 0 < size <= _LARGEST_SPAN or found.end > log.next_file(start):
        return None
    segment = log.segment_of(start)
    file = log.files.pages.file(segment.base, segment.path)
    if not log.can_send(segment, file, start, size):
        return None
    return native.join(found.packed, file.view, segment.base, found.byte_count)


def view_now(log: CommitLog, extents: Extents) -> Sequence[Buffer | memoryview] | None:
    """Like `load_now`, for bytes that are sent and not read: nothing is copied if that can be avoided."""
    try:
        return _views(log, extents)
    except OSError:
        # No address space or no mappings left: the loop may still read them.
        return load_now(log, extents)


def _views(log: CommitLog, extents: Extents) -> list[memoryview] | None:
    """Views of the extents, to be sent and not read; None when that would wait for the disk."""
    views: list[memoryview] = []
    count = len(extents)
    index = 0
    while index < count:
        start = extents[index][0]
        end, after = piece_of(extents, index, log.next_file(start))
        if not log.contains(start, end - start):
            return None
        segment = log.segment_of(start)
        base = segment.base
        file = log.files.pages.file(base, segment.path)
        if not log.can_send(segment, file, start, end - start):
            return None
        native.append_views(views, file.view, base, extents, index, after)
        index = after
    return views
