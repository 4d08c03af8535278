"""GET_PRODUCER_CONNECTION_LIST: the members of a producer group."""

from trimq.broker.groups.clients.connections import connections
from trimq.broker.groups.clients.producers import Producers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.clients import ProducerConnection
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import GetProducerConnectionListRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetProducerConnectionList(WholeProcessor[GetProducerConnectionListRequestHeader]):
    codes = (RequestCode.GET_PRODUCER_CONNECTION_LIST,)
    header = GetProducerConnectionListRequestHeader

    def __init__(self, producers: Producers) -> None:
        self._producers = producers

    def answer(self, request: Request[GetProducerConnectionListRequestHeader]) -> Response:
        name = request.header.producer_group
        members = self._producers.group(name)
        if members is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
        body = ProducerConnection(connection_set=connections(members.values()))
        return Response(body=encode_body(body))
