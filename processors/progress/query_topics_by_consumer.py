"""QUERY_TOPICS_BY_CONSUMER: the topics that a group has offsets in."""

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode
from trimq.codec.headers.topics import QueryTopicsByConsumerRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class QueryTopicsByConsumer(WholeProcessor[QueryTopicsByConsumerRequestHeader]):
    codes = (RequestCode.QUERY_TOPICS_BY_CONSUMER,)
    header = QueryTopicsByConsumerRequestHeader

    def __init__(self, identity: BrokerIdentity, offsets: ConsumerOffsets) -> None:
        self._identity = identity
        self._offsets = offsets

    def answer(self, request: Request[QueryTopicsByConsumerRequestHeader]) -> Response:
        topics = sorted(self._offsets.topics_of(request.header.group))
        body = TopicList(broker_addr=self._identity.address, topic_list=topics)
        return Response(body=encode_body(body))
