"""Which commits of a group that reads in order count, and resets.

- What lies below a passed end was consumed before what came from there to another queue: nobody goes back.
- While another member holds a queue's lock, an owner that has been away commits nothing.
- A reset closes the gates behind it before it moves anything. Receivers behind a closed gate are set to
  where they stand, so that their owners drop what they have fetched. Until these and the owners of what was reset
  have, nothing is handed out: one that is moved on is past a donor's end by then, and does not know it yet.
- After a reset only what has been handed out since can be committed: the rest is from before.

Resets are records too: a broker that is killed goes on with what it has not told to consumers yet.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.elastic.gated_groups import GatedGroups
from trimq.broker.elastic.kept_records import NOWHERE
from trimq.broker.elastic.log import ElasticLog
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.queue_locks import LOCK_MILLIS, QueueLock, QueueLocks
from trimq.broker.identity import BrokerIdentity
from trimq.broker.steps import Steps, at_once
from trimq.codec.bodies.elastic import ElasticDeletion, ElasticRecord, GroupReset
from trimq.codec.bodies.locks import MessageQueue

log = logging.getLogger("trimq.elastic")

# So long the queues are remembered, over a start, of which only counts what was handed out since they were moved.
_FRESH_MILLIS: Final = 600_000

Where = tuple[str, str]
"""Group and topic."""


class _Resets:
    """What is known of a group's resets in a topic. `position`: of the last record; `taken`: when, in milliseconds."""

    __slots__ = ("moved", "pending", "position", "settling", "taken")

    def __init__(self) -> None:
        self.position = -1
        self.taken = 0
        # Queue -> where the record lies that moved it, and its offset. Of these queues only what was handed out
        # since counts.
        self.moved: dict[int, tuple[int, int]] = {}
        # Of which no consumer has heard yet.
        self.pending: dict[int, int] = {}
        # What was reset, and receivers behind a closed gate, whose owners still have what they fetched before.
        self.settling: set[int] = set()


class ElasticCommits:
    """The guard of the offsets of elastic topics (`ConsumerOffsets.guard`)."""

    def __init__(
        self,
        identity: BrokerIdentity,
        records: ElasticLog,
        groups: GatedGroups,
        offsets: ConsumerOffsets,
        consumers: Consumers,
        locks: QueueLocks,
        clock: Clock,
    ) -> None:
        self._identity = identity
        self._records = records
        self._groups = groups
        self._offsets = offsets
        self._consumers = consumers
        self._locks = locks
        self._clock = clock
        self._resets: dict[Where, _Resets] = {}
        # Until then owners from before the start may not have locked their queues again.
        self._strange_until = 0
        # Called with topic and queue: who waits there for messages has a reset to hear of.
        self.wake: Callable[[str, int], object] = lambda topic, queue: None
        # Whether offsets have what the records read so far have moved.
        self._has_moved = False
        # Whether records come from a master.
        self._follows = False
        records.add_taker(self._take, self._forget_all)

    @property
    def follows(self) -> bool:
        return self._follows

    def restore(self) -> None:
        """The broker leads: when offsets are loaded and records read, or when it was a slave. Resets go on."""
        self._strange_until = self._clock.steady_millis() + LOCK_MILLIS
        self._go_on(follows=False)

    def follow(self) -> None:
        """The same for a slave: offsets move with its master's records, and consumers hear of resets there."""
        self._go_on(follows=True)

    def _go_on(self, *, follows: bool) -> None:
        # The file of the offsets has what was moved before it was written.
        since = None if self._has_moved else self._offsets.file.noted_log_end
        if since is None and not self._has_moved and not self._offsets.table_size():
            # It was never written.
            since = 0
        for (group, topic), resets in self._resets.items():
            moved = {}
            if since is not None:
                moved = {queue: to for queue, (at, to) in resets.moved.items() if at >= since}
            self._offsets.restore_reset(group, topic, moved, {} if follows else resets.pending)
        self._has_moved = True
        self._follows = follows

    def keep(self, end: int) -> None:
        """The log before this offset is about to be deleted: what is still to be told is appended anew. StoreError."""
        at_once(self.keep_in_steps(end))

    def keep_in_steps(self, end: int) -> Steps[None]:
        for (group, topic), resets in list(self._resets.items()):
            is_known = self._resets.get((group, topic)) is resets
            if is_known and resets.position < end and (resets.pending or resets.settling):
                self._record(group, topic, {}, resets.pending, resets.settling, again=True)
                yield

    def needs(self) -> int:
        """Where in the log the oldest record lies that is to be heard of: what nobody has taken, and for some minutes
        what was moved, for consumers that have fetched before, and for the offsets' file.
        """
        waiting = [one.position for one in self._resets.values() if one.pending or one.settling]
        fresh = self._clock.steady_millis() - _FRESH_MILLIS
        moved = [
            at for one in self._resets.values() if one.taken > fresh for at, _ in one.moved.values()
        ]
        return min([*waiting, *moved], default=NOWHERE)

    # --- as the guard

    def may_commit(self, client: str, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """`client`: its address, or what in the broker commits.

        A commit that goes back, of a group that is offline, is a reset by a tool.
        """
        if not self._groups.is_gated(group, topic):
            return True
        reason = self._objection(client, group, topic, queue_id, offset)
        if reason is None:
            return True
        # Go commits -1 every 5 s for a queue that it has got nothing of.
        level = logging.INFO if offset >= 0 else logging.DEBUG
        log.log(
            level,
            "offset not committed: group=%s topic=%s queue=%d offset=%d client=%s why=%s",
            group,
            topic,
            queue_id,
            offset,
            client,
            reason,
        )
        return False

    def committed(self, group: str, topic: str) -> None:
        self._groups.look(group, topic)

    def moving(
        self, group: str, topic: str, offsets: Mapping[int, int], *, told: bool = False
    ) -> None:
        """StoreError: it is not on record, and nothing may be moved."""
        if not self._groups.is_gated(group, topic):
            self._resets.pop((group, topic), None)
            return
        before = dict(self._groups.closed_queues(group, topic))
        known = self._groups.known_offsets(group, topic)
        self._groups.reset(group, topic, offsets)
        closed = {
            queue: start
            for queue, start in self._groups.closed_queues(group, topic).items()
            if queue not in before or start < before[queue]
        }
        stands = {
            queue: self._stand(group, topic, queue, start, known[queue])
            for queue, start in closed.items()
            if queue not in offsets and not self._offsets.has_reset(group, topic, queue)
        }
        # Commits that a kill has taken: what held in their place was the end of a change that counts no longer.
        kept = {
            queue: offset
            for queue, offset in known.items()
            if queue not in offsets
            and queue not in stands
            and offset > self._groups.known_offset(group, topic, queue)
        }
        pending = {**self._offsets.resets(group, topic), **stands}
        recorded = {**pending, **offsets} if told else pending
        settling = self._settling(group, topic) | closed.keys()
        if told:
            # What nobody holds may never be taken, and each start of the broker would wait for it.
            settling |= self._held(group, topic, offsets)
        self._record(group, topic, {**stands, **kept, **offsets}, recorded, settling)
        self._offsets.restore_reset(group, topic, {**stands, **kept}, pending)
        for queue in settling:
            self.wake(topic, queue)

    def has_to_tell(self, group: str, topic: str, queues: Iterable[int]) -> bool:
        is_there = self._is_online(group) or bool(self._held(group, topic, queues))
        return is_there and self._groups.is_gated(group, topic)

    def taking(self, group: str, topic: str, queue_id: int) -> None:
        """StoreError: it is not on record, and the consumer has to ask again."""
        if self._groups.is_gated(group, topic):
            pending = dict(self._offsets.resets(group, topic))
            pending.pop(queue_id, None)
            settling = self._settling(group, topic) - {queue_id}
            self._record(group, topic, {}, pending, settling)

    # --- for pulls and queries

    def is_anothers(self, group: str, topic: str, queue: int, client: str) -> bool:
        """Whether another member of the group holds the queue's lock than the one at this address.

        A connection that no heartbeat has named yet is the holder's when it took or renewed the lock over that:
        an owner that was away for long comes back on a new one.
        """
        held = self._lock(group, topic, queue)
        if held is None:
            return False
        member = self._member(group, client)
        if member is not None:
            return held.client_id != member
        if held.peer is not None and not held.peer.closed and held.peer.remote_addr == client:
            return False
        # What the broker commits itself has no address. Behind a proxy nobody is a member here.
        return _is_address(client) and self._is_online(group)

    def is_settling(self, group: str, topic: str, queue: int) -> bool:
        """Whether owners of other queues still have what they fetched before a reset."""
        resets = self._resets.get((group, topic))
        if resets is None or not resets.settling:
            return False
        for one in list(resets.settling):
            is_taken = not self._offsets.has_reset(group, topic, one)
            if is_taken or not self._may_be_held(group, topic, one):
                resets.settling.discard(one)
        return bool(resets.settling)

    # --- inside

    def _objection(
        self, client: str, group: str, topic: str, queue_id: int, offset: int
    ) -> str | None:
        if offset < 0:
            return "it is none"
        if offset < self._groups.passed_end(group, topic, queue_id):
            if self._is_online(group):
                return "a change behind it is passed"
            self.moving(group, topic, {queue_id: offset})
            return None
        if self._offsets.has_reset(group, topic, queue_id):
            return "an operator has reset it"
        if self.is_anothers(group, topic, queue_id, client):
            return "another member holds the queue"
        resets = self._resets.get((group, topic))
        if (
            resets is not None
            and queue_id in resets.moved
            and self._is_online(group)
            and offset > self._offsets.query_pull(group, topic, queue_id)
        ):
            return "it is from before a reset"
        return None

    def _stand(self, group: str, topic: str, queue: int, start: int, known: int) -> int:
        """Where a receiver's owner goes on. One that has committed nothing yet gets once more what it may have."""
        if known >= 0:
            return known
        if self._groups.begins_last(group):
            return start
        return self._groups.min_offset(topic, queue)

    def _settling(self, group: str, topic: str) -> set[int]:
        resets = self._resets.get((group, topic))
        return set() if resets is None else resets.settling

    def _record(
        self,
        group: str,
        topic: str,
        moved: Mapping[int, int],
        pending: Mapping[int, int],
        settling: Iterable[int],
        again: bool = False,
    ) -> None:
        record = GroupReset(
            topic=topic,
            group=group,
            moved=dict(moved),
            pending=dict(pending),
            settling=sorted(settling),
        )
        self._records.append(record, again)

    def _take(self, record: ElasticRecord, position: int) -> None:
        if isinstance(record, GroupReset):
            resets = self._resets.setdefault((record.group, record.topic), _Resets())
            resets.position = position
            resets.taken = self._clock.steady_millis()
            resets.moved |= {queue: (position, to) for queue, to in record.moved.items()}
            resets.pending = dict(record.pending)
            resets.settling = set(record.settling)
            if self._follows:
                self._offsets.restore_reset(record.group, record.topic, record.moved, {})
        elif isinstance(record, ElasticDeletion):
            for group, topic in list(self._resets):
                if record.group in (None, group) and record.topic in (None, topic):
                    del self._resets[group, topic]

    def _forget_all(self) -> None:
        """All records come anew, and have moved offsets already."""
        self._resets.clear()
        self._follows = False

    def _is_online(self, group: str) -> bool:
        found = self._consumers.group(group)
        return found is not None and bool(found.members)

    def _held(self, group: str, topic: str, queues: Iterable[int]) -> set[int]:
        return {queue for queue in queues if self._may_be_held(group, topic, queue)}

    def _may_be_held(self, group: str, topic: str, queue: int) -> bool:
        """Whether a member holds the queue's lock, or may have held it before the start."""
        is_strange = self._clock.steady_millis() < self._strange_until
        return is_strange or self._lock(group, topic, queue) is not None

    def _member(self, group: str, client: str) -> str | None:
        """The client id of the member at an address."""
        found = self._consumers.group(group)
        if found is None:
            return None
        for peer, member in found.members.items():
            if peer.remote_addr == client:
                return member.client.client_id
        return None

    def _lock(self, group: str, topic: str, queue: int) -> QueueLock | None:
        where = MessageQueue(broker_name=self._identity.name, queue_id=queue, topic=topic)
        return self._locks.find(group, where)


def _is_address(client: str) -> bool:
    return ":" in client
