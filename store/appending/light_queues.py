"""Entering a message into light queues beside its own (LmqDispatch, HookUtils.handleLmqQuota).

A message names them in INNER_MULTI_DISPATCH. When it is staged it gets their next offsets, in
INNER_MULTI_QUEUE_OFFSET, so the record says all that recovery must know. A record that is to be in none says
nothing about offsets, whatever its sender did: the real broker, or we after a crash, would take it at its word.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.names import LIGHT_QUEUE_ID, LMQ_PREFIX, TRANS_HALF_TOPIC, allows_light
from trimq.codec.records.multi_dispatch import (
    can_be_light,
    wanted_names,
    with_offsets,
    without_offsets,
)
from trimq.store.config import StoreConfig
from trimq.store.errors import TooManyLightQueues
from trimq.store.messages.message import Message
from trimq.store.queues.light_queue import LightQueue
from trimq.store.queues.queue import Queue
from trimq.store.queues.queues import Queues


class LightQueues:
    __slots__ = ("_config", "_queues")

    def __init__(self, config: StoreConfig, queues: Queues) -> None:
        self._config = config
        self._queues = queues

    def enter(self, message: Message, own: Queue) -> list[LightQueue]:
        """The queues that get an entry as well, each once; the message's properties say where.

        `own` is the message's queue. TooManyLightQueues: one of them would be new, and may not.
        """
        names = wanted_names(message.properties)
        if not allows_light(message.topic):
            return []
        if not self._may_enter(message.topic, names):
            message.properties = without_offsets(message.properties)
            return []
        if self._config.enable_lmq_quota:
            self._check_quota(names)
        offsets: list[int] = []
        entered: dict[str, LightQueue] = {}
        for name in names:
            if "/" in name:
                # It has an offset, as there, and never a file.
                offsets.append(0)
                continue
            queue = self._queues.get(name, LIGHT_QUEUE_ID)
            offsets.append(queue.next_offset)
            if queue is not own and isinstance(queue, LightQueue):
                entered[name] = queue
        message.properties = with_offsets(message.properties, offsets)
        return list(entered.values())

    def _may_enter(self, topic: str, names: list[str]) -> bool:
        """Half messages are in no light queue: nobody may read them before they are committed.

        Nor are messages that name anything else beside light queues: the real broker, which gives such a name
        an empty offset, would fail at each start over that record.
        """
        if topic == TRANS_HALF_TOPIC or not names or not self._queues.is_plain(topic):
            return False
        for name in names:
            if not name.startswith(LMQ_PREFIX):
                return False
            if "/" not in name and not (can_be_light(name) and self._queues.is_plain(name)):
                return False
        return True

    def _check_quota(self, names: list[str]) -> None:
        most = self._config.max_lmq_consume_queue_num
        light = self._queues.light
        if len(light) < most:
            return
        for name in names:
            if name not in light:
                raise TooManyLightQueues(
                    f"{len(light)} light queues, maxLmqConsumeQueueNum is {most}: no room for {name[:100]!r}"
                )
