"""CLEAN_UNUSED_TOPIC: delete the consume queues of topics that are not (or no longer) configured.

Unlike in RocketMQ their groups' offsets go, too, as when a topic is deleted: those of the next topic of that name
begin at 0, and its first messages would be passed over.
"""

import logging

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.steps import Pace, in_steps
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.names import LMQ_PREFIX
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.admin")


class CleanUnusedTopic(Processor[None]):
    """System topics, light queues and what a map of queues names stay. One topic a step."""

    codes = (RequestCode.CLEAN_UNUSED_TOPIC,)

    def __init__(self, topics: Topics, offsets: ConsumerOffsets, store: MessageStore) -> None:
        self._topics = topics
        self._offsets = offsets
        self._store = store

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        pace = Pace()
        for topic in self._store.topic_names():
            if self._is_unused(topic):
                try:
                    deleted = await in_steps(self._store.delete_in_steps(topic))
                except StoreError as error:
                    raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from error
                await in_steps(self._offsets.forget_topic(topic))
                if deleted:
                    log.info("queues of a topic without config deleted topic=%s", topic)
            await pace.keep()
        return Response()

    def _is_unused(self, topic: str) -> bool:
        if topic in self._topics or topic in self._topics.mappings.special:
            return False
        if topic.startswith(LMQ_PREFIX):
            return False
        return not self._topics.is_system_topic(topic)
