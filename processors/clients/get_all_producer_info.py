"""GET_ALL_PRODUCER_INFO: every producer group with its members."""

from trimq.broker.groups.clients.connections import language_name
from trimq.broker.groups.clients.producers import Producers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import ProducerInfo, ProducerTableInfo
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import GetAllProducerInfoRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetAllProducerInfo(WholeProcessor[GetAllProducerInfoRequestHeader]):
    """ProducerTableInfo. Addresses are written as Java prints a socket address: `/ip:port`."""

    codes = (RequestCode.GET_ALL_PRODUCER_INFO,)
    header = GetAllProducerInfoRequestHeader

    def __init__(self, producers: Producers) -> None:
        self._producers = producers

    def answer(self, request: Request[GetAllProducerInfoRequestHeader]) -> Response:
        table = {
            group: [
                ProducerInfo(
                    client_id=client.client_id,
                    language=language_name(client.language),
                    last_update_timestamp=client.last_update,
                    remote_ip=f"/{client.peer.remote_addr}",
                    version=client.version,
                )
                for client in members.values()
            ]
            for group, members in self._producers.groups().items()
        }
        return Response(body=encode_body(ProducerTableInfo(data=table)))
