"""Forgetting parts of static topics' queues that no longer hold any message
(TopicQueueMappingCleanService).

Without it, every question about a queue's beginning goes to a broker that may be gone for good.
"""

import logging
from typing import Final, Protocol

from trimq.broker.steps import Pace
from trimq.broker.topics.mappings import TopicMappings
from trimq.broker.topics.static_queues import StaticQueues, refused
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import TopicStatsTable, by_queue
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.remoting.contract import RemotingError

log: Final = logging.getLogger("trimq.broker")

PERIOD_SECONDS: Final = 300


class Queues(Protocol):
    """What it asks the store."""

    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...


class PartCleaning:
    """Checks the first part of every queue that this broker leads."""

    def __init__(self, mappings: TopicMappings, static: StaticQueues, store: Queues) -> None:
        self._mappings = mappings
        self._static = static
        self._store = store

    async def clean(self) -> None:
        """One round; a broker that does not answer is asked again in the next one."""
        pace = Pace()
        for topic, detail in list(self._mappings.all().items()):
            emptied: dict[int, LogicQueueMappingItem] = {}
            await pace.keep()
            for number, items in list(detail.hosted_queues.items()):
                await pace.keep()
                if len(items) < 2 or items[-1].bname != detail.bname:
                    continue
                try:
                    if await self._is_empty(topic, detail, items[0]):
                        emptied[number] = items[0]
                except (RemotingError, CodecError) as error:
                    log.warning("first part not checked: topic=%s reason=%s", topic, error)
            self._forget(topic, emptied)

    async def _is_empty(
        self, topic: str, detail: TopicQueueMappingDetail, part: LogicQueueMappingItem
    ) -> bool:
        if part.bname == detail.bname:
            first = self._store.min_offset(topic, part.queue_id)
            end = self._store.max_offset(topic, part.queue_id)
            return end in (0, first)
        header = GetTopicStatsInfoRequestHeader(topic=topic, lo=False, bname=part.bname)
        reply = await self._static.reply(part, RequestCode.GET_TOPIC_STATS_INFO, header)
        if reply.code != ResponseCode.SUCCESS:
            raise refused(reply, part)
        table = by_queue(decode_body(TopicStatsTable, reply.body).offset_table)
        found = table.get(
            MessageQueue(broker_name=part.bname or "", queue_id=part.queue_id, topic=topic)
        )
        return found is not None and found.max_offset in (0, found.min_offset)

    def _forget(self, topic: str, emptied: dict[int, LogicQueueMappingItem]) -> None:
        # While brokers were being asked, an operator may have changed the mapping or deleted the
        # topic.
        detail = self._mappings.get(topic)
        if detail is None:
            return
        for number, part in emptied.items():
            items = detail.hosted_queues.get(number, [])
            if len(items) > 1 and items[0] == part:
                log.info("empty part forgotten: topic=%s queue=%d part=%s", topic, number, part)
                self._mappings.replace_parts(topic, number, items[1:])
