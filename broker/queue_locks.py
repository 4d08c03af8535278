"""One owner per group and queue, for orderly consumption (RebalanceLockManager).

The owner renews its lock every 20 s; a lock that was not renewed for 60 s may be taken over.
"""

import logging
from collections.abc import Iterable

from trimq.broker.clock import Clock
from trimq.codec.bodies.locks import MessageQueue

log = logging.getLogger("trimq.broker")

LOCK_MILLIS = 60_000
"""rocketmq.broker.rebalance.lockMaxLiveTime."""


class _Lock:
    """Who holds a queue, and since when it has not been renewed."""

    __slots__ = ("client_id", "last_update")

    def __init__(self, client_id: str, last_update: int) -> None:
        self.client_id = client_id
        self.last_update = last_update


class QueueLocks:
    """Which client consumes which queue in order, per group."""

    def __init__(self, clock: Clock, lock_millis: int = LOCK_MILLIS) -> None:
        self._clock = clock
        self._lock_millis = lock_millis
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}

    def lock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> set[MessageQueue]:
        """Lock or renew what can be; returns the queues that the client holds now."""
        now = self._clock.millis()
        locks = self._groups.setdefault(group, {})
        return {queue for queue in queues if self._lock(group, locks, queue, client_id, now)}

    def unlock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Give up locks; those of others stay."""
        locks = self._groups.get(group, {})
        for queue in queues:
            held = locks.get(queue)
            if held is None:
                log.debug("queue was not locked: group=%s queue=%s", group, _name(queue))
            elif held.client_id != client_id:
                log.warning(
                    "queue not unlocked, another holds it: group=%s queue=%s owner=%s client=%s",
                    group,
                    _name(queue),
                    held.client_id,
                    client_id,
                )
            else:
                del locks[queue]
                log.info(
                    "queue unlocked: group=%s queue=%s client=%s", group, _name(queue), client_id
                )

    def all_expired(self, group: str) -> bool:
        """Whether nobody holds a queue of the group (isLockAllExpired)."""
        now = self._clock.millis()
        return all(self._expired(held, now) for held in self._groups.get(group, {}).values())

    def _lock(
        self,
        group: str,
        locks: dict[MessageQueue, _Lock],
        queue: MessageQueue,
        client_id: str,
        now: int,
    ) -> bool:
        held = locks.get(queue)
        if held is None:
            locks[queue] = _Lock(client_id, now)
            log.info("queue locked: group=%s queue=%s client=%s", group, _name(queue), client_id)
            return True
        if held.client_id != client_id:
            if not self._expired(held, now):
                log.warning(
                    "queue not locked, another holds it: group=%s queue=%s owner=%s client=%s",
                    group,
                    _name(queue),
                    held.client_id,
                    client_id,
                )
                return False
            log.warning(
                "queue taken over, its lock had expired: group=%s queue=%s from=%s to=%s",
                group,
                _name(queue),
                held.client_id,
                client_id,
            )
            held.client_id = client_id
        held.last_update = now
        return True

    def _expired(self, held: _Lock, now: int) -> bool:
        return now - held.last_update > self._lock_millis


def _name(queue: MessageQueue) -> str:
    return f"{queue.topic}/{queue.queue_id}@{queue.broker_name}"
