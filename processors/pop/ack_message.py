"""ACK_MESSAGE (200051): a popped message was consumed."""

from trimq.broker.lite.acking import LiteAcking, is_lite
from trimq.broker.pop.acking import Acking
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import AckMessageRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class AckMessage(Processor[AckMessageRequestHeader]):
    codes = (RequestCode.ACK_MESSAGE,)
    header = AckMessageRequestHeader

    def __init__(self, acking: Acking, lite: LiteAcking) -> None:
        self._acking = acking
        self._lite = lite

    def handle(self, request: Request[AckMessageRequestHeader]) -> Response:
        header, peer = request.header, request.peer
        if is_lite(header.lite_topic):
            self._acking.check_queue(header.topic, header.queue_id, peer)
            self._lite.ack(header, peer)
            return Response()
        with self._acking.puts():
            durable_at = self._acking.ack(header, peer)
        return Response(
            ResponseCode.SUCCESS,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
