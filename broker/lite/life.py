"""How long lite topics live (LiteLifecycleManager): those without messages for lite.topic.expiration minutes go."""

import logging
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.batches import OrderedBatches
from trimq.codec.names import LMQ_PREFIX, lite_queue, lite_queue_parts
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.lite")

_MINUTE: Final = 60_000
_STEP: Final = 200
# Seconds between two looks whether the broker has been up for long enough.
_EARLY: Final = 20


class LiteLife:
    def __init__(
        self,
        config: BrokerConfig,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        offsets: ConsumerOffsets,
        batches: OrderedBatches,
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

    def exists(self, queue: str) -> bool:
        """Whether a light queue has, or had, messages."""
        return self._store.max_offset(queue, 0) > 0

    def queues(self) -> list[str]:
        """All light queues, those of lite topics and others."""
        return [name for name in self._store.topics() if name.startswith(LMQ_PREFIX)]

    def queues_of(self, topic: str) -> list[str]:
        """The light queues of a topic's lite topics."""
        start = lite_queue(topic, "")
        return [name for name in self._store.topics() if name.startswith(start)]

    async def run(self) -> None:
        """Until cancelled. Nothing expires soon after a start: clients have to come back first."""
        started = trio.current_time()
        while True:
            if trio.current_time() - started < self._config.min_lite_ttl / 1000:
                await trio.sleep(min(_EARLY, self._config.min_lite_ttl / 1000))
                continue
            await self.clean()
            await trio.sleep(self._config.lite_ttl_check_interval / 1000)

    async def clean(self) -> None:
        """Delete what has expired."""
        lifetimes = self._metadata.lifetimes()
        if not lifetimes:
            return
        for number, queue in enumerate(self.queues()):
            if number % _STEP == 0:
                await trio.lowlevel.checkpoint()
            parts = lite_queue_parts(queue)
            minutes = lifetimes.get(parts[0], 0) if parts is not None else 0
            if minutes > 0 and self._is_expired(queue, minutes):
                self._delete(queue)

    def _is_expired(self, queue: str, minutes: int) -> bool:
        end = self._store.max_offset(queue, 0)
        if end <= 0:
            return False
        idle = self._clock.millis() - self._store.store_time(queue, 0, end - 1)
        return idle >= self._config.min_lite_ttl and idle > minutes * _MINUTE

    def delete_topic(self, topic: str) -> None:
        """A topic is about to be deleted: its lite topics go with it. Only those of a topic that is a lite one."""
        if self._metadata.is_lite(topic):
            for queue in self.queues_of(topic):
                self._delete(queue)

    def _delete(self, queue: str) -> None:
        log.info("lite topic deleted: queue=%s", queue)
        self._offsets.forget_topic(queue)
        self._batches.forget_topic(queue)
        try:
            self._store.delete_topic(queue)
        except StoreError as error:
            log.error("lite topic not deleted: queue=%s reason=%s", queue, error)
        self._subscriptions.remove_queue(queue)
