"""How long lite topics live (LiteLifecycleManager): those without messages for lite.topic.expiration minutes go."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.order.rules import OrderedBlocks
from trimq.broker.steps import DiskSteps, at_once, in_steps
from trimq.codec.names import lite_queue_parts
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.queues.files.removal import Removal, run_all

log = logging.getLogger("trimq.lite")

_MINUTE: Final = 60_000
# Seconds between two looks whether the broker has been up for long enough.
_EARLY: Final = 20
# So often in a row nothing is known of a lite topic before it counts as expired: a disk may fail to read for a while.
_MOST_UNKNOWN: Final = 5
# Lite topics that are listed to be deleted.
_AT_A_TIME: Final = 1000
# Whose folders a thread removes between two steps.
_REMOVED_TOGETHER: Final = 64


class LiteLifecycle:
    def __init__(
        self,
        config: BrokerConfig,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        offsets: ConsumerOffsets,
        batches: OrderedBlocks,
        store: MessageStore,
        clock: Clock,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._offsets = offsets
        self._batches = batches
        self._store = store
        self._clock = clock
        # How often in a row it could not be said when the last message of a light queue was stored.
        self._unknown: dict[str, int] = {}

    def exists(self, queue: str) -> bool:
        """Whether a light queue has, or had, messages."""
        return self._store.max_offset(queue, 0) > 0

    def queues_of(self, topic: str) -> list[str]:
        """The light queues of a topic's lite topics."""
        return self._store.lite_queues(topic)

    async def run(self) -> None:
        """Until cancelled. Nothing expires soon after a start: clients have to come back first."""
        started = self._clock.current_time()
        while True:
            if self._clock.current_time() - started < self._config.min_lite_ttl / 1000:
                await self._clock.sleep(min(_EARLY, self._config.min_lite_ttl / 1000))
                continue
            await self.clean()
            await self._clock.sleep(self._config.lite_ttl_check_interval / 1000)

    async def clean(self) -> None:
        """Delete what has expired: all lite topics may, in the same minute."""
        for topic in self._store.lite_parents():
            minutes = self._metadata.lifetime_of(topic)
            if minutes > 0:
                await in_steps(self._delete(self._expired(topic, minutes)))

    def _expired(self, topic: str, minutes: int) -> Iterator[str | None]:
        """One after the other, each looked at when it is its turn; None for one that is not."""
        for queue in self.queues_of(topic):
            is_lite = lite_queue_parts(queue) is not None
            yield queue if is_lite and self._is_expired(queue, minutes) else None

    def _is_expired(self, queue: str, minutes: int) -> bool:
        end = self._store.max_offset(queue, 0)
        stored = self._store.store_time(queue, 0, end - 1) if end > 0 else 0
        if stored <= 0:
            times = self._unknown[queue] = self._unknown.get(queue, 0) + 1
            log.warning("lite topic without a last message: queue=%s times=%d", queue, times)
            return times > _MOST_UNKNOWN
        self._unknown.pop(queue, None)
        idle = self._clock.millis() - stored
        return idle >= self._config.min_lite_ttl and idle > minutes * _MINUTE

    def delete_topic(self, topic: str) -> DiskSteps[None]:
        """A topic is about to be deleted: its lite topics go before it, so that those that are left when this is
        interrupted can still be found. Only those of a topic that is a lite one.
        """
        if not self._metadata.is_lite(topic):
            return
        stay: set[str] = set()
        # What came meanwhile goes as well: a delayed message, perhaps. Few at a time: a list of all of them is long.
        while queues := self._some(topic, stay):
            stay |= yield from self._delete(queues)

    def _some(self, topic: str, but: set[str]) -> list[str]:
        first = self._store.lite_queues(topic, _AT_A_TIME + len(but))
        return [queue for queue in first if queue not in but]

    def _delete(self, queues: Iterable[str | None]) -> DiskSteps[set[str]]:
        """Those whose files could not be deleted."""
        stay: set[str] = set()
        removals: dict[str, Removal] = {}
        for queue in queues:
            if queue is not None:
                self._take_out(queue, removals, stay)
                yield from self._subscriptions.remove_queue(queue)
            if len(removals) == _REMOVED_TOGETHER:
                stay |= yield from self._remove(removals)
                removals = {}
            yield None
        return stay | (yield from self._remove(removals))

    def _take_out(self, queue: str, removals: dict[str, Removal], stay: set[str]) -> None:
        """In one step what a message that comes next would find: its folders are for `removals`, or stay."""
        log.info("lite topic deleted: queue=%s", queue)
        self._unknown.pop(queue, None)
        at_once(self._offsets.forget_topic(queue))
        at_once(self._batches.forget_topic(queue))
        try:
            removal = self._store.deletion.take_out(queue)
        except StoreError as error:
            self._stays(queue, error, stay)
            return
        if removal is not None:
            removals[queue] = removal

    def _remove(self, removals: Mapping[str, Removal]) -> DiskSteps[set[str]]:
        """Their folders; those of which some are left."""
        stay: set[str] = set()
        if removals:
            yield partial(run_all, list(removals.values()))
        for queue, removal in removals.items():
            try:
                self._store.deletion.settle(queue, removal)
            except StoreError as error:
                self._stays(queue, error, stay)
        return stay

    def _stays(self, queue: str, error: StoreError, stay: set[str]) -> None:
        log.error("lite topic not deleted: queue=%s reason=%s", queue, error)
        stay.add(queue)
