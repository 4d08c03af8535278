"""What must be true of an elastic topic's messages: where they lie, and in which order a group may get them.

Pure: it knows the operator's changes, and what was written, handed out and consumed; nothing of how a broker decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from trimq.store.messages.message import Dispatched


class Kept(NamedTuple):
    """A message that is in the log: the number-th of its partition."""

    partition: int
    number: int
    queue: int
    offset: int
    tag: str


class Written:
    """Every message of the topic, in the order of the log."""

    def __init__(self, queues: list[int]) -> None:
        """`queues`: of each partition the queue where it lies at first."""
        self.queues = queues
        self.partitions: dict[int, list[Kept]] = defaultdict(list)
        self.at: dict[tuple[int, int], Kept] = {}
        self.misplaced: list[Kept] = []

    def add(self, record: Dispatched, body: bytes) -> None:
        """The body says partition and tag."""
        partition, tag = body.split()
        mine = self.partitions[int(partition)]
        kept = Kept(int(partition), len(mine), record.queue_id, record.queue_offset, tag.decode())
        mine.append(kept)
        self.at[kept.queue, kept.offset] = kept
        if record.queue_id != self.queues[kept.partition]:
            self.misplaced.append(kept)

    def before(self, message: Kept) -> Iterator[Kept]:
        """Earlier ones of its partition that lie in other queues."""
        for other in self.partitions[message.partition][: message.number]:
            if other.queue != message.queue:
                yield other

    def after(self, message: Kept) -> Iterator[Kept]:
        """Later ones of its partition that lie in other queues."""
        for other in self.partitions[message.partition][message.number + 1 :]:
            if other.queue != message.queue:
                yield other

    def all(self) -> Iterator[Kept]:
        for mine in self.partitions.values():
            yield from mine

    def ends(self) -> dict[int, int]:
        """What each queue's next message will get."""
        found: dict[int, int] = defaultdict(int)
        for queue, offset in self.at:
            found[queue] = max(found[queue], offset + 1)
        return found


class Ledger:
    """What one group has been given and has consumed."""

    def __init__(self, written: Written, tag: str) -> None:
        """`tag`: the only one that it wants; `*`: all."""
        self._written = written
        self._tag = tag
        # Queue -> the offset from which on it must get every message.
        self.owes: dict[int, int] = {}
        self.consumed: set[Kept] = set()
        # Consumed before a reset, or skipped by one: they need not come, and may.
        self.given_up: set[Kept] = set()
        self.resets = 0
        # By partition and queue: after how many resets the newest was fetched that was consumed.
        self._newest: dict[tuple[int, int], int] = defaultdict(int)

    def is_owed(self, message: Kept) -> bool:
        """Whether the group must get it."""
        begin = self.owes.get(message.queue)
        return begin is not None and message.offset >= begin and self._tag in ("*", message.tag)

    def missing(self) -> list[Kept]:
        """What must still come."""
        return [one for one in self._written.all() if self.is_owed(one) and not self._is_done(one)]

    def handed_out(self, message: Kept) -> None:
        """Everything before it in other queues is consumed by now."""
        assert self._tag in ("*", message.tag)
        for before in self._written.before(message):
            assert not self.is_owed(before) or self._is_done(before), (before, message)

    def consume(self, message: Kept, resets: int) -> None:
        """A listener has returned. `resets`: how many there had been when it was fetched."""
        partition = message.partition
        for (other, queue), newest in self._newest.items():
            # What was fetched before a reset is gone when messages come once more.
            if other == partition and queue != message.queue:
                assert newest <= resets, (message, queue, newest, resets)
        self._newest[partition, message.queue] = resets
        if resets < self.resets:
            self.given_up.add(message)
            return
        self.handed_out(message)
        for after in self._written.after(message):
            assert after not in self.consumed, (message, after)
        self.consumed.add(message)

    def reset(self, queue: int, offset: int) -> None:
        """The group is moved: from the offset on everything comes once more, and nothing below it has to."""
        self.resets += 1
        self.owes[queue] = offset
        for done in (self.consumed, self.given_up):
            done -= {one for one in done if one.queue == queue and one.offset >= offset}
        # Successors in other queues are consumed already, and need not come again.
        over = {one for one in self.consumed if self._follows_missing(one)}
        self.consumed -= over
        self.given_up |= over

    def _is_done(self, message: Kept) -> bool:
        return message in self.consumed or message in self.given_up

    def _follows_missing(self, message: Kept) -> bool:
        return any(
            self.is_owed(before) and not self._is_done(before)
            for before in self._written.before(message)
        )
