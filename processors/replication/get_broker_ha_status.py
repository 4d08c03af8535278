"""GET_BROKER_HA_STATUS: who copies this broker's log, or whose log it copies."""

from trimq.broker.stats.replicas import Replicas
from trimq.codec.bodies.base import encode_body
from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response


class GetBrokerHaStatus(Processor[None]):
    """The body is a HARuntimeInfo (DefaultHAService.getRuntimeInfo)."""

    codes = (RequestCode.GET_BROKER_HA_STATUS,)

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    def handle(self, request: Request[None]) -> Response:
        return Response(body=encode_body(self._replicas.info()))
