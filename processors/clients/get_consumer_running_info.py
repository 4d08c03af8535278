"""GET_CONSUMER_RUNNING_INFO: a consumer's own account of itself, with its threads if asked for."""

from trimq.broker.consumers import Consumers
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import GetConsumerRunningInfoRequestHeader
from trimq.processors.clients._asking import ask_consumer
from trimq.remoting.contract import Processor, Request, Response


class GetConsumerRunningInfo(Processor[GetConsumerRunningInfoRequestHeader]):
    """The client is asked with the same header; its answer goes back unread."""

    codes = (RequestCode.GET_CONSUMER_RUNNING_INFO,)
    header = GetConsumerRunningInfoRequestHeader
    waits = True

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    async def handle(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Response:
        header = request.header
        who = (header.consumer_group, header.client_id)
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        return await ask_consumer(self._consumers, code, header, who, request.body)
