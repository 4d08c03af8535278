"""QUERY_TOPIC_CONSUME_BY_WHO: the groups that read a topic."""

from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import GroupList
from trimq.codec.codes import RequestCode
from trimq.codec.headers.topics import QueryTopicConsumeByWhoRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class QueryTopicConsumeByWho(WholeProcessor[QueryTopicConsumeByWhoRequestHeader]):
    """Those with members online that have subscribed it, and those with offsets in it."""

    codes = (RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,)
    header = QueryTopicConsumeByWhoRequestHeader

    def __init__(self, consumers: Consumers, offsets: ConsumerOffsets) -> None:
        self._consumers = consumers
        self._offsets = offsets

    def answer(self, request: Request[QueryTopicConsumeByWhoRequestHeader]) -> Response:
        topic = request.header.topic
        groups = self._consumers.groups_consuming(topic) | self._offsets.groups_of(topic)
        return Response(body=encode_body(GroupList(group_list=groups)))
