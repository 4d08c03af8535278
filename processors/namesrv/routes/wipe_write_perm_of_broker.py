"""WIPE_WRITE_PERM_OF_BROKER: keep producers away from a broker until its topics change."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import (
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)
from trimq.namesrv.topic_queues import TopicQueues
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class WipeWritePermOfBroker(WholeProcessor[WipeWritePermOfBrokerRequestHeader]):
    codes = (RequestCode.WIPE_WRITE_PERM_OF_BROKER,)
    header = WipeWritePermOfBrokerRequestHeader

    def __init__(self, topics: TopicQueues) -> None:
        self._topics = topics

    def answer(self, request: Request[WipeWritePermOfBrokerRequestHeader]) -> Response:
        count = self._topics.wipe_write(request.header.broker_name or "")
        return Response(header=WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))
