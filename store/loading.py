"""The records of a pull, from the commit log to a reply in as few steps as pay.

Neighbours in a queue lie apart in the log: between them are the messages of the other queues. What
lies close together is asked for, or read, in one piece; a system call costs as much as copying some
ten KiB.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from sys import byteorder
from typing import Final

from trimq.codec import kernel
from trimq.store.commit_log import CommitLog
from trimq.store.reading import ReadResult

Buffer = bytes | bytearray
Extents = list[tuple[int, int]]
_LARGEST_GAP: Final = 8 * 1024
_LARGEST_PIECE: Final = 512 * 1024
# Above that, views cost less than a copy.
_MOST_JOINED: Final = 128 * 1024
# A queue among dozens has its messages so far apart.
_LARGEST_SPAN: Final = 4 * 1024 * 1024


def piece_of(extents: Extents, index: int, file_end: int) -> tuple[int, int]:
    """One piece that begins with the extent at `index`: where it ends, and the extent after it."""
    start, size = extents[index]
    end = start + size
    count = len(extents)
    after = index + 1
    while after < count:
        offset, size = extents[after]
        # What follows must not lie before, far behind, or in another file.
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

    Each view costs as much as copying half a KiB: to make, to hand to the kernel, to throw away.
    """
    if not found.packed or found.byte_count > _MOST_JOINED:
        return None
    start = int.from_bytes(found.packed[:8], byteorder)
    size = found.end - start
    if not 0 < size <= _LARGEST_SPAN or found.end > log.next_file(start):
        return None
    segment = log.segment_of(start)
    file = log.pages.file(segment.base, segment.path)
    if not log.can_send(segment, file, start, size):
        return None
    return kernel.join(found.packed, file.view, segment.base, found.byte_count)


def view_now(log: CommitLog, extents: Extents) -> list[memoryview] | None:
    """Views of the extents, to be sent and not looked at; None when the disk would be waited for."""
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
        file = log.pages.file(base, segment.path)
        if not log.can_send(segment, file, start, end - start):
            return None
        if kernel.IN_C:
            kernel.append_views(views, file.view, base, extents, index, after)
        else:
            append_in_python(views, file.view, base, extents, index, after)
        index = after
    return views


def append_in_python(
    views: list[memoryview],
    view: memoryview,
    base: int,
    extents: Extents,
    first: int,
    behind: int,
) -> None:
    """Append what `view`, which begins at `base`, has of the extents from `first` up to `behind`."""
    for at in range(first, behind):
        offset, size = extents[at]
        offset -= base
        views.append(view[offset : offset + size])
