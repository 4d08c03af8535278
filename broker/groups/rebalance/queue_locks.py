"""One owner per group and queue, for orderly consumption (RebalanceLockManager).

The owner renews its lock every 20 s; a lock that was not renewed for 60 s may be taken over.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.steps import Pace
from trimq.codec.bodies.locks import MessageQueue
from trimq.remoting.contract import Peer
from trimq.remoting.growth_limits import check_room

log = logging.getLogger("trimq.broker")

LOCK_MILLIS = 60_000
"""rocketmq.broker.rebalance.lockMaxLiveTime."""
# Other owners that a log line names.
_KINDS: Final = 5


class QueueLock:
    """Who holds a queue, over which connection it asked last, and since when it has not been renewed."""

    __slots__ = ("client_id", "last_update", "peer")

    def __init__(self, client_id: str, last_update: int, peer: Peer | None) -> None:
        self.client_id = client_id
        self.last_update = last_update
        self.peer = peer


class _Outcome:
    """What became of the queues of one request, for one line of the log."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: MessageQueue | None = None

    def note(self, what: str, queue: MessageQueue) -> None:
        self._first = self._first or queue
        if what in self._counts or len(self._counts) < _KINDS:
            self._counts[what] += 1

    def log(self, event: str, group: str, client_id: str) -> None:
        """Renewals are not worth a log line."""
        if self._first is not None:
            outcome = ", ".join(f"{count} {what}" for what, count in self._counts.items())
            log.info(
                f"{event}: group=%s client=%s outcome=%s first=%s",
                group,
                client_id,
                outcome,
                _name(self._first),
            )


class QueueLocks:
    """Which client consumes which queue in order, per group.

    Locks that have expired are forgotten; LimitReached when a group, or all, hold too many.
    """

    def __init__(
        self, clock: Clock, lock_millis: int = LOCK_MILLIS, config: BrokerConfig | None = None
    ) -> None:
        self._clock = clock
        self._lock_millis = lock_millis
        self._config = config or BrokerConfig()
        self._groups: dict[str, dict[MessageQueue, QueueLock]] = {}
        # How many queues of a topic each group has locked.
        self._of_topic: dict[str, Counter[str]] = {}
        self.count = 0

    def lock(
        self,
        group: str,
        queues: Iterable[MessageQueue],
        client_id: str,
        peer: Peer | None = None,
    ) -> set[MessageQueue]:
        """Lock or renew what can be; returns the queues that the client holds now. `peer`: its connection."""
        now = self._clock.steady_millis()
        locks = self._groups.get(group, {})
        outcome = _Outcome()
        held: set[MessageQueue] = set()
        for queue in queues:
            owner = locks.get(queue)
            if owner is None:
                self._check_room(locks)
                locks = self._groups.setdefault(group, locks)
                owner = locks[queue] = QueueLock(client_id, now, peer)
                self._count(group, queue)
                outcome.note("locked", queue)
            elif owner.client_id != client_id:
                if not self._expired(owner, now):
                    outcome.note(f"held by {owner.client_id}", queue)
                    continue
                outcome.note(f"taken over from {owner.client_id}", queue)
                owner.client_id = client_id
            owner.last_update = now
            owner.peer = peer
            held.add(queue)
        outcome.log("queues locked", group, client_id)
        return held

    def unlock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Give up locks; those of others stay."""
        locks = self._groups.get(group, {})
        outcome = _Outcome()
        for queue in queues:
            held = locks.get(queue)
            if held is None:
                continue
            if held.client_id != client_id:
                outcome.note(f"held by {held.client_id}", queue)
            else:
                self._forget(group, locks, queue)
                outcome.note("unlocked", queue)
        outcome.log("queues unlocked", group, client_id)

    def holder(self, group: str, queue: MessageQueue) -> str | None:
        """The client that holds the queue now."""
        held = self.find(group, queue)
        return None if held is None else held.client_id

    def find(self, group: str, queue: MessageQueue) -> QueueLock | None:
        """The lock that is on the queue now; must not be changed."""
        held = self._groups.get(group, {}).get(queue)
        if held is None or self._expired(held, self._clock.steady_millis()):
            return None
        return held

    def groups_of(self, topic: str) -> list[str]:
        """The groups of which somebody holds a queue of the topic, or has held one a moment ago."""
        return list(self._of_topic.get(topic, ()))

    def all_expired(self, group: str) -> bool:
        """Whether nobody holds a queue of the group (isLockAllExpired)."""
        now = self._clock.steady_millis()
        return all(self._expired(held, now) for held in self._groups.get(group, {}).values())

    async def forget_expired(self) -> None:
        """Called every few seconds: an expired lock is the same as none."""
        pace = Pace()
        for group, locks in list(self._groups.items()):
            for queue, held in list(locks.items()):
                if self._expired(held, self._clock.steady_millis()) and locks.get(queue) is held:
                    self._forget(group, locks, queue)
                await pace.keep()
            await pace.keep()

    def _check_room(self, locks: dict[MessageQueue, QueueLock]) -> None:
        check_room(len(locks), self._config.max_group_locks, "locks of the group", "maxGroupLocks")
        check_room(self.count, self._config.max_queue_locks, "queue locks", "maxQueueLocks")

    def _forget(
        self, group: str, locks: dict[MessageQueue, QueueLock], queue: MessageQueue
    ) -> None:
        del locks[queue]
        self.count -= 1
        groups = self._of_topic[queue.topic]
        groups[group] -= 1
        if not groups[group]:
            del groups[group]
            if not groups:
                del self._of_topic[queue.topic]
        if not locks:
            self._groups.pop(group, None)

    def _count(self, group: str, queue: MessageQueue) -> None:
        self.count += 1
        groups = self._of_topic.get(queue.topic)
        if groups is None:
            groups = self._of_topic[queue.topic] = Counter()
        groups[group] += 1

    def _expired(self, held: QueueLock, now: int) -> bool:
        return now - held.last_update > self._lock_millis


def _name(queue: MessageQueue) -> str:
    return f"{queue.topic}/{queue.queue_id}@{queue.broker_name}"
