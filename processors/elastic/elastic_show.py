"""ELASTIC_SHOW: an elastic topic's queues, changes and groups."""

from typing import Protocol

from trimq.broker.elastic.description import Descriptions
from trimq.broker.elastic.model import TopicMap
from trimq.broker.elastic.old_producers import OldProducers
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.codes import OwnRequestCode, ResponseCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class States(Protocol):
    """What of ElasticMaps is needed here."""

    def state(self, topic: str) -> TopicMap | None: ...


class ShowElasticTopic(Processor[ElasticTopicRequestHeader]):
    """Refused for every other topic."""

    codes = (OwnRequestCode.ELASTIC_SHOW,)
    header = ElasticTopicRequestHeader

    def __init__(
        self, maps: States, topics: Topics, descriptions: Descriptions, old_producers: OldProducers
    ) -> None:
        self._maps = maps
        self._topics = topics
        self._descriptions = descriptions
        self._old_producers = old_producers

    def handle(self, request: Request[ElasticTopicRequestHeader]) -> Response:
        name = request.header.topic
        state, config = self._maps.state(name), self._topics.get(name)
        if state is None or config is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"{name!r} is not an elastic topic of this broker; mqadmin elasticTopic create makes it one",
            )
        view = self._descriptions.view(name, state, config.read_queue_nums)
        view.old_producers = self._old_producers.of(name)
        return Response(body=encode_body(view))
