"""DELETE_TOPIC_IN_BROKER: a topic, its queues and offsets, its POP retry topics and lite topics.

The answer says that all of it is gone. Whoever does not wait that long asks again.
"""

from functools import partial

from trimq.broker.config import BrokerConfig
from trimq.broker.services.detached_work import DetachedWork, Work
from trimq.broker.services.topic_deletion import TopicDeletion
from trimq.broker.topics.checks import check_not_system
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response


class DeleteTopicInBroker(Processor[DeleteTopicRequestHeader]):
    codes = (RequestCode.DELETE_TOPIC_IN_BROKER,)
    header = DeleteTopicRequestHeader

    def __init__(
        self, config: BrokerConfig, topics: Topics, deletion: TopicDeletion, detached: DetachedWork
    ) -> None:
        self._config = config
        self._topics = topics
        self._deletion = deletion
        self._detached = detached

    def decode_header(self, ext_fields: dict[str, str]) -> DeleteTopicRequestHeader:
        """A missing topic counts as a blank one."""
        return super().decode_header({"topic": "", **ext_fields})

    def handle(self, request: Request[DeleteTopicRequestHeader]) -> Response | Later:
        topic = request.header.topic
        if not topic.strip():
            raise RemotingError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
        check_not_system(self._config, self._topics, topic)
        work = self._detached.begin(f"deletion of the topic {topic}", self._deletion.delete(topic))
        if work is None:
            return Response()
        return Later(request, partial(_finish, self._detached, work), keeps_body=False)


async def _finish(
    detached: DetachedWork, work: Work, request: Request[DeleteTopicRequestHeader]
) -> Response:
    await detached.wait(work)
    return Response()
