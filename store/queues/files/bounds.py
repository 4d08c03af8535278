"""Which entries found in consume-queue files can be trusted.

After a clean stop every entry that points into the commit log. After a crash only those that the
checkpoint vouches for: what came later may never have been written, or be torn, and is restored
from the log.
"""

from __future__ import annotations

from trimq.codec.entries.queue import FILLER_SIZE


class Believed:
    """`vouched` is the physical offset of the last record whose entry is trusted."""

    __slots__ = ("log_end", "log_min", "vouched")

    def __init__(self, log_min: int = 0, log_end: int = 0, vouched: int | None = None) -> None:
        self.log_min = log_min
        self.log_end = log_end
        self.vouched = log_end if vouched is None else vouched

    def hold(self, physical_offset: int, size: int) -> bool:
        """Whether it is a filler or points to a record that lies entirely inside."""
        if size == FILLER_SIZE:
            return physical_offset == 0
        return 0 < size <= self.log_end - physical_offset and 0 <= physical_offset <= self.vouched


def leading_entries(block: list[tuple[int, int, int]], bounds: Believed) -> int:
    """How many of the entries are valid and in the order of the log, from the first on."""
    before = -1
    for index, (physical_offset, size, _) in enumerate(block):
        if not bounds.hold(physical_offset, size):
            return index
        if physical_offset <= before and size != FILLER_SIZE:
            return index
        before = physical_offset if size != FILLER_SIZE else -1
    return len(block)
