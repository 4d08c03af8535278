"""ADD_WRITE_PERM_OF_BROKER: make all topics of a broker readable and writable again."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
)
from trimq.namesrv.topic_queues import TopicQueues
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class AddWritePermOfBroker(WholeProcessor[AddWritePermOfBrokerRequestHeader]):
    codes = (RequestCode.ADD_WRITE_PERM_OF_BROKER,)
    header = AddWritePermOfBrokerRequestHeader

    def __init__(self, topics: TopicQueues) -> None:
        self._topics = topics

    def answer(self, request: Request[AddWritePermOfBrokerRequestHeader]) -> Response:
        count = self._topics.add_write(request.header.broker_name or "")
        return Response(header=AddWritePermOfBrokerResponseHeader(add_topic_count=count))
