"""Entering a message into light queues beside its own (LmqDispatch, HookUtils.handleLmqQuota).

A message names them in INNER_MULTI_DISPATCH. When it is staged it gets their next offsets, in
INNER_MULTI_QUEUE_OFFSET, so the record says all that recovery must know. A record that is in none says nothing about
offsets, whatever its sender did: the real broker, or we after a crash, would take it at its word.

A producer is told when its message cannot be entered (`check`). One that was taken long ago, for a delay or a
transaction, is stored all the same, in its own queue only: it must not hold up those behind it.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging

from trimq.codec.names import LIGHT_QUEUE_ID, LMQ_PREFIX, TRANS_HALF_TOPIC, allows_light
from trimq.codec.records.multi_dispatch import (
    can_be_light,
    wanted_names,
    with_offsets,
    without_offsets,
)
from trimq.codec.records.record import LONGEST_PROPERTIES, record_size
from trimq.store.appending.record_limits import closed_properties
from trimq.store.config import StoreConfig
from trimq.store.errors import (
    MessageTooLarge,
    PropertiesTooLong,
    StoreError,
    TooManyLightQueues,
)
from trimq.store.messages.message import Message
from trimq.store.queues.light.queue import LightQueue
from trimq.store.queues.queue import Queue
from trimq.store.queues.queues import Queues

log = logging.getLogger("trimq.store")


class LightQueues:
    __slots__ = ("_config", "_queues")

    def __init__(self, config: StoreConfig, queues: Queues) -> None:
        self._config = config
        self._queues = queues

    def check(self, message: Message) -> None:
        """StoreError: why the message cannot be entered into the light queues that it names."""
        names = self._names(message)
        if names:
            self._check(message, names)

    def enter(self, message: Message, own: Queue) -> list[LightQueue]:
        """The queues that get an entry as well, each once; the message's properties say where.

        `own` is the message's queue.
        """
        if not allows_light(message.topic):
            return []
        names = self._names(message)
        if names:
            try:
                self._check(message, names)
            except StoreError as reason:
                log.warning("message in no light queue: topic=%s reason=%s", message.topic, reason)
                names = []
        if not names:
            message.properties = without_offsets(message.properties)
            return []
        message.properties = with_offsets(message.properties, [self._next(name) for name in names])
        entered: dict[str, LightQueue] = {}
        for name in names:
            if "/" not in name:
                queue = self._queues.get(name, LIGHT_QUEUE_ID)
                if queue is not own and isinstance(queue, LightQueue):
                    entered[name] = queue
        return list(entered.values())

    def _names(self, message: Message) -> list[str]:
        """The light queues that it names, if it may be in any.

        Half messages are in none: nobody may read them before they are committed. Nor are messages that name
        anything else beside light queues: the real broker, which gives such a name an empty offset, would fail at
        each start over that record.
        """
        topic = message.topic
        if topic == TRANS_HALF_TOPIC or not allows_light(topic) or not self._queues.is_plain(topic):
            return []
        names = wanted_names(message.properties)
        for name in names:
            if not name.startswith(LMQ_PREFIX):
                return []
            if "/" not in name and not (can_be_light(name) and self._queues.is_plain(name)):
                return []
        return names

    def _check(self, message: Message, names: list[str]) -> None:
        """The limits of CommitLog.handlePropertiesForLmqMsg: a whole record is limited as a body is otherwise."""
        if self._config.enable_lmq_quota:
            self._check_quota(names)
        offsets = [self._next(name) for name in names]
        properties = closed_properties(with_offsets(message.properties, offsets))
        if len(properties) > LONGEST_PROPERTIES:
            raise PropertiesTooLong(f"the properties take {len(properties)} bytes")
        topic_size = len(message.topic.encode())
        size = record_size(len(message.body), topic_size, len(properties), message.sys_flag)
        if size > self._config.max_message_size:
            raise MessageTooLarge(
                f"a record of {size} bytes is above {self._config.max_message_size}"
            )

    def _next(self, name: str) -> int:
        """The offset that the queue gives next; a name that becomes no file has one too, as there."""
        return 0 if "/" in name else self._queues.find(name, LIGHT_QUEUE_ID).next_offset

    def _check_quota(self, names: list[str]) -> None:
        most = self._config.max_lmq_consume_queue_num
        light = self._queues.light
        if len(light) < most:
            return
        for name in names:
            if not light.has(name):
                raise TooManyLightQueues(
                    f"{len(light)} light queues, maxLmqConsumeQueueNum is {most}: no room for {name[:100]!r}"
                )
