"""ADD_WRITE_PERM_OF_BROKER: make all topics of a broker readable and writable again."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
)
from trimq.namesrv.topic_queues import TopicQueues
from trimq.remoting.contract import Processor, Request, Response


class AddWritePermOfBroker(Processor[AddWritePermOfBrokerRequestHeader]):
    codes = (RequestCode.ADD_WRITE_PERM_OF_BROKER,)
    header = AddWritePermOfBrokerRequestHeader

    def __init__(self, topics: TopicQueues) -> None:
        self._topics = topics

    def handle(self, request: Request[AddWritePermOfBrokerRequestHeader]) -> Response:
        count = self._topics.add_write(request.header.broker_name or "")
        return Response(header=AddWritePermOfBrokerResponseHeader(add_topic_count=count))
