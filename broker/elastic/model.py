"""What elastic topics are: the map, its changes, and which of them a group has passed.

Pure: no clock, no store, no state but what is given. A logical partition (LP) is the queue that a
producer picked; the map gives each one a physical queue. A change moves LPs from donors to receivers.
A group may read a receiver from the change's start on only when it has passed the change.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace

NEW_TOPIC_PARTITIONS = 1000
MOST_CHANGES = 1000

Committed = Callable[[int], int]
"""A physical queue's committed offset, or its min offset where that is higher."""


class PlanError(ValueError):
    """What was asked for cannot be done; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Move:
    """A change that has not happened yet: LP -> the queue that it goes to."""

    targets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that has happened. `ends`: donor -> its end offset; `starts`: receiver -> its start.

    `moved`: how many LPs. `told`: groups that were there and had no offset in a receiver; they begin at its start.
    """

    version: int
    ends: Mapping[int, int]
    starts: Mapping[int, int]
    moved: int
    told: frozenset[str] = frozenset()
    # When it came, in milliseconds since 1970; 0: an older version made it.
    at: int = 0


@dataclass(frozen=True, slots=True)
class TopicMap:
    """A topic's whole state: `queues[lp]` is the physical queue, `changes` those not forgotten."""

    queues: tuple[int, ...]
    version: int = 0
    changes: tuple[Change, ...] = ()
    # How many write queues a topic had that was there before; 0: it was made elastic, or an older version converted it.
    old_queues: int = 0

    def place(self, partition: int) -> int:
        """The physical queue of an LP; IndexError when there is no such LP."""
        if partition < 0:
            raise IndexError(f"no partition {partition}")
        return self.queues[partition]

    @property
    def in_use(self) -> int:
        """How many queues are in use: their numbers are 0 to this, without it."""
        return max(self.queues) + 1

    def partitions_of(self, queue: int) -> list[int]:
        """The LPs that lie in a queue, ascending."""
        return [lp for lp, one in enumerate(self.queues) if one == queue]

    def apply(
        self,
        move: Move,
        end_of: Callable[[int], int],
        told: frozenset[str] = frozenset(),
        at: int = 0,
    ) -> "TopicMap":
        """The map after a move; `end_of` gives a queue's end offset at this moment, `told` and `at` as in Change.

        PlanError when it moves nothing, names what is not there, or the topic has too many changes.
        """
        self.check(move)
        donors = {self.queues[lp] for lp in move.targets}
        change = Change(
            self.version + 1,
            {donor: end_of(donor) for donor in sorted(donors)},
            {receiver: end_of(receiver) for receiver in sorted(set(move.targets.values()))},
            len(move.targets),
            told,
            at,
        )
        queues = list(self.queues)
        for lp, receiver in move.targets.items():
            queues[lp] = receiver
        changes = (*self.changes, change)
        return replace(self, queues=tuple(queues), version=change.version, changes=changes)

    def check(self, move: Move) -> None:
        """PlanError when the move cannot be made."""
        if not move.targets:
            raise PlanError("a change must move at least one partition")
        self.check_room(1)
        for lp, receiver in move.targets.items():
            if not 0 <= lp < len(self.queues):
                raise PlanError(f"there is no partition {lp}: they are 0 to {len(self.queues) - 1}")
            if receiver < 0:
                raise PlanError(f"there is no queue {receiver}")
            if self.queues[lp] == receiver:
                raise PlanError(f"partition {lp} is in queue {receiver} already")
        donors = {self.queues[lp] for lp in move.targets}
        if donors & set(move.targets.values()):
            raise PlanError("a queue cannot give and receive in the same change")

    def check_room(self, changes: int) -> None:
        """PlanError when so many more changes would be too many to remember."""
        if len(self.changes) + changes > MOST_CHANGES:
            raise PlanError(
                f"the topic has {len(self.changes)} changes that may still be needed, {MOST_CHANGES} at"
                " most: wait until retention has deleted the messages before the oldest, and delete groups"
                " that will not come back (deleteSubGroup -r true)"
            )

    def newly_passed(self, passed: frozenset[int], committed: Committed) -> frozenset[int]:
        """The versions that a group passes by its commits, beside those it has `passed`.

        Oldest first: a donor's end says nothing of what a donor of its own still holds.
        """
        found: set[int] = set()
        open_receivers: set[int] = set()
        for change in self.changes:
            if change.version not in passed:
                if self._is_passed(change, open_receivers, committed):
                    found.add(change.version)
                else:
                    open_receivers.update(change.starts)
        return frozenset(found)

    def _is_passed(self, change: Change, unpassed: set[int], committed: Committed) -> bool:
        return all(
            donor not in unpassed and committed(donor) >= end for donor, end in change.ends.items()
        )

    def readable_until(self, queue: int, passed: frozenset[int]) -> int | None:
        """Where a group's reads of a queue end: the first closed start; None when all are open."""
        closed = [
            change.starts[queue]
            for change in self.changes
            if queue in change.starts and change.version not in passed
        ]
        return min(closed, default=None)

    def first_offset(self, queue: int, group: str) -> int | None:
        """Where a group without an offset in a queue begins, if a change has named it; else None."""
        starts = [c.starts[queue] for c in self.changes if queue in c.starts and group in c.told]
        return min(starts, default=None)

    def passed_end(self, queue: int, passed: frozenset[int]) -> int:
        """The highest end in a queue that a group has passed; 0 without one. Commits below are stale."""
        ends = [c.ends[queue] for c in self.changes if queue in c.ends and c.version in passed]
        return max(ends, default=0)

    def kept_passes(self, passed: frozenset[int], queue: int, offset: int) -> frozenset[int]:
        """The passes that hold after a group's reset of a queue: not those of ends above its offset,
        nor those that came after, by way of their receivers."""
        kept: set[int] = set()
        closed: set[int] = set()
        for change in self.changes:
            behind = change.ends.get(queue, offset) > offset
            if change.version not in passed or behind or closed & change.ends.keys():
                closed.update(change.starts)
            else:
                kept.add(change.version)
        return frozenset(kept)

    def forget(
        self,
        min_offset_of: Callable[[int], int],
        is_awaited: Callable[[Change], bool] = lambda change: False,
    ) -> "TopicMap":
        """Without the oldest changes whose donors hold no message below their ends any more.

        Stops at the first that is needed: those after it may rest on it. `is_awaited`: somebody who was told has
        still to begin there.
        """
        first = 0
        for change in self.changes:
            if any(min_offset_of(donor) < end for donor, end in change.ends.items()):
                break
            if is_awaited(change):
                break
            first += 1
        return replace(self, changes=self.changes[first:]) if first else self


def new_topic(queues: int, partitions: int = NEW_TOPIC_PARTITIONS) -> TopicMap:
    """A new topic's map: LP l lies in queue l mod n. PlanError for a count that does not fit."""
    if not 1 <= queues <= partitions:
        raise PlanError(f"the number of queues must be 1 to {partitions}, not {queues}")
    return TopicMap(tuple(lp % queues for lp in range(partitions)))


def converted_topic(write_queues: int) -> TopicMap:
    """An existing topic's map: L is the multiple of its write queues nearest to 1000, so a key's
    queue is the same whether its producer takes the hash modulo L or modulo the old count."""
    if write_queues < 1:
        raise PlanError("the topic has no write queues")
    below = NEW_TOPIC_PARTITIONS // write_queues * write_queues
    above = below + write_queues
    nearer_below = below and NEW_TOPIC_PARTITIONS - below <= above - NEW_TOPIC_PARTITIONS
    return replace(
        new_topic(write_queues, below if nearer_below else above), old_queues=write_queues
    )


def plan_scale(topic: TopicMap, queues: int) -> list[Move]:
    """The moves to 0..n-1 with as many LPs in each, one donor each; none when that is so already.

    Each queue of the tail gives all, and of the others each gives what it has above its share. From wherever such
    a plan was left, another one to the same number goes on: no LP moves twice.
    """
    if not 1 <= queues <= len(topic.queues):
        raise PlanError(f"the number of queues must be 1 to {len(topic.queues)}, not {queues}")
    held: list[list[int]] = [[] for _ in range(max(queues, topic.in_use))]
    for lp, queue in enumerate(topic.queues):
        held[queue].append(lp)
    return _shrink(held, queues) + _even(held[:queues], len(topic.queues))


def _shrink(held: list[list[int]], queues: int) -> list[Move]:
    """Each LP of the tail goes to the queue that has the fewest by then; `held` is what is so afterwards.

    No queue gets more than its share by that.
    """
    sizes = [(len(held[queue]), queue) for queue in range(queues)]
    heapify(sizes)
    moves = []
    for tail in held[queues:]:
        targets = {}
        for lp in tail:
            size, targets[lp] = sizes[0]
            heapreplace(sizes, (size + 1, targets[lp]))
            held[targets[lp]].append(lp)
        if targets:
            moves.append(Move(targets))
    return moves


def _even(held: list[list[int]], partitions: int) -> list[Move]:
    """Queues below their share are filled in turn, from those above theirs in turn."""
    least, more = divmod(partitions, len(held))
    # The larger shares go to those that have most: they give less, and who has received never gives.
    largest = set(sorted(range(len(held)), key=lambda queue: (-len(held[queue]), queue))[:more])
    share = [least + (queue in largest) for queue in range(len(held))]
    wanted = [queue for queue, lps in enumerate(held) for _ in range(share[queue] - len(lps))]
    moves = []
    for lps, kept in zip(held, share, strict=True):
        spare = lps[kept:]
        given, wanted = wanted[: len(spare)], wanted[len(spare) :]
        if given:
            moves.append(Move(dict(zip(spare, given, strict=True))))
    return moves


def plan_split(topic: TopicMap, queue: int, receiver: int, partitions: Iterable[int] = ()) -> Move:
    """Move some LPs of a queue, without any named every second one, to another queue.

    PlanError when they are not in that queue, or all would go.
    """
    held = topic.partitions_of(queue)
    chosen = list(partitions) or held[1::2]
    strange = sorted(set(chosen) - set(held))
    if strange:
        raise PlanError(f"partition {strange[0]} is not in queue {queue}")
    if not chosen or len(set(chosen)) == len(held):
        raise PlanError(f"queue {queue} must keep a partition and give one: it has {len(held)}")
    if not 0 <= receiver <= topic.in_use:
        raise PlanError(f"the receiver must be 0 to {topic.in_use}, not {receiver}")
    return _checked(topic, Move(dict.fromkeys(chosen, receiver)))


def plan_merge(topic: TopicMap, receiver: int) -> Move:
    """Move all LPs of the last queue to another one: the queues in use stay 0..n-1."""
    donor = topic.in_use - 1
    if not 0 <= receiver < donor:
        raise PlanError(f"only the last queue, {donor}, can be merged, into a lower one")
    return _checked(topic, Move(dict.fromkeys(topic.partitions_of(donor), receiver)))


def _checked(topic: TopicMap, move: Move) -> Move:
    topic.check(move)
    return move
