"""What a job reads of a store: shares of its commit log, or the records that its consume queues name.

Reading a record here and there costs more than its bytes: in that time a disk, or a remote file
system, would have read many more in a row. Each entry counts as that many bytes; if they add up to
less than the log, the records are read through the queues. What queues may not name yet, the log's
tail under a running broker, is read from the log all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trimq.codec.entries.checkpoint import parse_checkpoint
from trimq.spark.store.files import Files, is_local
from trimq.spark.store.log_scan import LogExtent, LogPart, log_extents, log_parts, unsure_since
from trimq.spark.store.options import Store, StoreOptions
from trimq.spark.store.queues import QueueRange, counted, has_queue_files, shares

# What could be read in a row while one record somewhere else is fetched.
NEAR_SEEK: Final = 64 << 10
FAR_SEEK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class QueuePart:
    """Records that entries of queues name, as far as they begin at or after `low`, and before `high`."""

    store: Store
    ranges: tuple[QueueRange, ...]
    low: int
    high: int
    unsure: int

    def __str__(self) -> str:
        return ", ".join(f"{one.folder} [{one.start}, {one.end})" for one in self.ranges)


Part = LogPart | QueuePart


def plan(options: StoreOptions) -> list[Part]:
    """What the tasks of a job read, of all its stores."""
    parts: list[Part] = []
    if options.topics == {""} or options.queue_ids == frozenset():
        # Conditions that contradict each other.
        return parts
    for store in options.stores:
        extents = log_extents(store, options)
        named = _by_queues(store, extents, options)
        parts += log_parts(extents, 0, store, options) if named is None else named
    return parts


def seek_cost(store: Store) -> int:
    """Bytes that an entry counts for."""
    return NEAR_SEEK if all(map(is_local, store.commit_logs)) else FAR_SEEK


def _by_queues(store: Store, extents: list[LogExtent], options: StoreOptions) -> list[Part] | None:
    """The same through the queues; None if that costs more, or the queues are incomplete."""
    if not options.topics or options.use_queues is False or not extents:
        return None
    if not has_queue_files(store, options.files):
        return None
    low = extents[0].base
    tail = _vouched(store, options.files, extents)
    ranges = counted(store, options, low, tail) if tail > low else None
    if ranges is None:
        return None
    cost = seek_cost(store)
    entries = sum(one.end - one.start for one in ranges)
    scanned = sum(one.end for one in extents)
    behind = sum(max(one.base + one.end - max(tail, one.base), 0) for one in extents)
    if options.use_queues is None and entries * cost + behind >= scanned:
        return None
    unsure = unsure_since(store, options.files)
    share = max(options.split_bytes // cost, 1)
    named: list[Part] = [
        QueuePart(store, tuple(some), low, tail, unsure) for some in shares(ranges, share)
    ]
    return named + log_parts(extents, tail, store, options)


def _vouched(store: Store, files: Files, extents: list[LogExtent]) -> int:
    """The offset before which every record has its entry in a file.

    A store that was closed cleanly has them all. Otherwise its checkpoint names the last record
    that had one when it was written.
    """
    end = extents[-1].base + extents[-1].end
    # The checkpoint first: a broker that starts in the meantime creates `abort` before it writes
    # anything.
    checkpoint = parse_checkpoint(files.read(f"{store.root}/checkpoint"))
    if not files.exists(f"{store.root}/abort"):
        return end
    return min(checkpoint.queue_physical_offset, end)
