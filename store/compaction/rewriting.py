"""Rewriting a compacted queue: of each key only the newest record stays, and not even that one without a body.

By CompactionLog.doCompaction: all files but the last one are rewritten as soon as one of them has records that were
not looked at. A record stays if it is not older than the newest of its key among those looked at now; keys that
are not among them were thinned out before. Unlike there, keys need not all fit: what is behind those that do is
looked at in the next turn; and the exchange of files can be interrupted anywhere.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from trimq.codec.records.record import parse_record
from trimq.store.compaction.pair import Kept, Pair
from trimq.store.compaction.queue import (
    COMES,
    DONE,
    GOES,
    REWRITTEN,
    CompactedQueue,
    add,
    discard,
    key_of,
)
from trimq.store.disk.files import make_directories, replace_file, sync_directory

_AT_ONCE: Final = 1024


class Newest(NamedTuple):
    """The newest queue offset of each key among the records looked at; `last`: of the last of them."""

    offsets: dict[bytes, int]
    last: int


def rewrite(queue: CompactedQueue, position: int, most_keys: int) -> int:
    """Rewrite once, if there is something new behind `position`; up to where it was looked at. OSError."""
    with queue.lock:
        # An exchange that failed halfway comes first: what it has not moved yet is nowhere else.
        queue.finish_replacing()
        pairs = queue.pairs[:-1]
    if not any(pair.last > position for pair in pairs):
        return position
    newest = _newest(pairs, position, most_keys)
    folders = (queue.folders[0] / REWRITTEN, queue.folders[1] / REWRITTEN)
    rewritten = _retain(queue, pairs, newest, folders)
    for pair in rewritten:
        pair.sync()
    with queue.lock:
        if queue.is_closed:
            for folder in folders:
                discard(folder)
            return position
        queue.exchange(_write_down(pairs, rewritten, folders))
        following = queue.pairs[len(pairs) :]
        kept = [Pair(queue.folders, pair.base, queue.sizes) for pair in rewritten]
        for pair in kept:
            pair.load(is_last=False)
        queue.pairs = [*kept, *following]
    return newest.last


def _newest(pairs: list[Pair], position: int, most_keys: int) -> Newest:
    offsets: dict[bytes, int] = {}
    last = position
    for pair in pairs:
        if pair.last <= position:
            continue
        for kept in pair.records():
            if kept.queue_offset <= position:
                continue
            digest = _digest(kept.record)
            if digest not in offsets and len(offsets) >= most_keys:
                return Newest(offsets, last)
            offsets[digest] = last = kept.queue_offset
    return Newest(offsets, last)


def _retain(
    queue: CompactedQueue, pairs: list[Pair], newest: Newest, folders: tuple[Path, Path]
) -> list[Pair]:
    """New files with what stays."""
    rewritten: list[Pair] = []
    batch: list[Kept] = []
    for pair in pairs:
        for kept in pair.records():
            if _stays(kept, newest):
                batch.append(kept)
            if len(batch) >= _AT_ONCE:
                add(rewritten, batch, folders, queue.sizes)
                batch = []
    add(rewritten, batch, folders, queue.sizes)
    if rewritten:
        rewritten[-1].finish()
    return rewritten


def _stays(kept: Kept, newest: Newest) -> bool:
    if kept.queue_offset > newest.last:
        return True
    if kept.queue_offset < newest.offsets.get(_digest(kept.record), -1):
        return False
    return bool(parse_record(kept.record, check_crc=False).body)


def _digest(record: bytes) -> bytes:
    """Of its keys: shorter than most, and all of one length."""
    return hashlib.blake2b(key_of(record).encode(), digest_size=16).digest()


def _write_down(pairs: list[Pair], rewritten: list[Pair], folders: tuple[Path, Path]) -> Path:
    """From here on the exchange is certain."""
    for folder in folders:
        make_directories(str(folder))
        sync_directory(folder)
        sync_directory(folder.parent)
    lines = [f"{GOES} {pair.paths[0].name}" for pair in pairs]
    lines += [f"{COMES} {pair.paths[0].name}" for pair in rewritten]
    done = folders[0] / DONE
    replace_file(done, "\n".join(lines).encode("ascii"))
    sync_directory(folders[0])
    return done
