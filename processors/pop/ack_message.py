"""ACK_MESSAGE (200051): a popped message was consumed."""

from trimq.broker.pop.acking import Acking
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import AckMessageRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class AckMessage(Processor[AckMessageRequestHeader]):
    codes = (RequestCode.ACK_MESSAGE,)
    header = AckMessageRequestHeader

    def __init__(self, acking: Acking) -> None:
        self._acking = acking

    def handle(self, request: Request[AckMessageRequestHeader]) -> Response:
        with self._acking.puts():
            durable_at = self._acking.ack(request.header, request.peer)
        return Response(
            ResponseCode.SUCCESS,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
