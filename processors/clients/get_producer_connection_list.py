"""GET_PRODUCER_CONNECTION_LIST: the members of a producer group."""

from broker.producers import Producers
from codec.bodies.base import encode_body
from codec.bodies.clients import ProducerConnection
from codec.codes import RequestCode, ResponseCode
from codec.headers.clients import GetProducerConnectionListRequestHeader
from processors.clients._connections import connections
from remoting.contract import Processor, RemotingError, Request, Response


class GetProducerConnectionList(Processor[GetProducerConnectionListRequestHeader]):
    codes = (RequestCode.GET_PRODUCER_CONNECTION_LIST,)
    header = GetProducerConnectionListRequestHeader

    def __init__(self, producers: Producers) -> None:
        self._producers = producers

    def handle(self, request: Request[GetProducerConnectionListRequestHeader]) -> Response:
        name = request.header.producer_group
        members = self._producers.group(name)
        if members is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
        body = ProducerConnection(connection_set=connections(members.values()))
        return Response(body=encode_body(body))
