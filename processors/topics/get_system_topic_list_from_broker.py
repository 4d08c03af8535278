"""GET_SYSTEM_TOPIC_LIST_FROM_BROKER: the names that TopicValidator holds for the broker itself."""

from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetSystemTopicListFromBroker(WholeProcessor[None]):
    codes = (RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,)

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def answer(self, request: Request[None]) -> Response:
        names = sorted(self._topics.system_topic_names())
        return Response(body=encode_body(TopicList(topic_list=names)))
