"""CLEAN_EXPIRED_CONSUMEQUEUE: delete queues whose records are all deleted; their offsets start
again.

Those of system topics stay, and those that never had a message. Unlike in RocketMQ so do those in whose offsets
something else counts: a group that has one, the map of a static or an elastic topic, a compacted topic's own files.
With the offsets from before, new messages would be passed over until there are as many of them.
"""

import logging

import trio

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.admin")


class CleanExpiredConsumequeue(Processor[None]):
    codes = (RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,)

    def __init__(self, topics: Topics, offsets: ConsumerOffsets, store: MessageStore) -> None:
        self._topics = topics
        self._offsets = offsets
        self._store = store

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        try:
            await self._clean()
        except StoreError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from error
        return Response()

    async def _clean(self) -> None:
        trimming = self._store.trimming
        counted = self._topics.mappings.special | self._offsets.light_topics()
        topics = [
            topic
            for topic in self._store.topic_names()
            if not (topic in counted or self._topics.is_system_topic(topic))
        ]
        log_min = self._store.min_physical_offset
        for topic in await trio.to_thread.run_sync(trimming.find_idle, topics, log_min):
            for queue_id in self._store.queues(topic):
                if not self._offsets.is_read(topic, queue_id) and trimming.delete_if_idle(
                    topic, queue_id
                ):
                    log.info(
                        "consume queue without messages deleted topic=%s queue=%d", topic, queue_id
                    )
                await trio.lowlevel.checkpoint()
