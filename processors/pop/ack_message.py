"""ACK_MESSAGE (200051): a popped message was consumed."""

from trimq.broker.lite.acknowledgements import LiteAcknowledgements, is_lite
from trimq.broker.pop.acknowledgements import Acknowledgements
from trimq.broker.produce.puts.rules import PutRefused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast_pop import AckHeader, decode_ack
from trimq.codec.headers.pop import AckMessageRequestHeader
from trimq.remoting.contract import Processor, Request, Response
from trimq.store.errors import StoreError


class AckMessage(Processor[AckHeader]):
    codes = (RequestCode.ACK_MESSAGE,)
    joins_rounds = True
    header = AckMessageRequestHeader

    def __init__(self, acking: Acknowledgements, lite: LiteAcknowledgements) -> None:
        self._acking = acking
        self._lite = lite

    def decode_header(self, ext_fields: dict[str, str]) -> AckHeader:
        return decode_ack(ext_fields)

    def handle(self, request: Request[AckHeader]) -> Response:
        header, peer = request.header, request.peer
        if header.lite_topic is not None and is_lite(header.lite_topic):
            self._acking.check_queue(header.topic, header.queue_id, peer)
            self._lite.ack(header, peer)
            return Response()
        try:
            durable_at = self._acking.ack(header, peer)
        except (StoreError, PutRefused) as error:
            raise self._acking.not_noted(error) from error
        return Response(
            ResponseCode.SUCCESS,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
