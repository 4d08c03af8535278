"""GET_CONSUMER_RUNNING_INFO: what a consumer reports about itself, with its threads if asked for."""

from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.consumers.requests import ask_consumer
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import GetConsumerRunningInfoRequestHeader
from trimq.remoting.contract import Later, Processor, Request, Response


class GetConsumerRunningInfo(Processor[GetConsumerRunningInfoRequestHeader]):
    """The client is asked with the same header; its answer goes back unread."""

    codes = (RequestCode.GET_CONSUMER_RUNNING_INFO,)
    header = GetConsumerRunningInfoRequestHeader

    def __init__(self, consumers: Consumers, proxies: BehindProxies) -> None:
        self._consumers = consumers
        self._proxies = proxies

    def handle(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Response:
        header = request.header
        who = (header.consumer_group, header.client_id)
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        answer = await ask_consumer(self._consumers, code, header, who, request.body, self._proxies)
        return Response(
            answer.code, answer.remark, ext_fields=answer.ext_fields or None, body=answer.body
        )
