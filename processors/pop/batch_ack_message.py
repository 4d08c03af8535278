"""BATCH_ACK_MESSAGE (200151): popped messages of any checkpoints were consumed."""

from trimq.broker.pop.acking import Acking
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.pop import BatchAckMessageRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import Header
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class BatchAckMessage(Processor[Header]):
    codes = (RequestCode.BATCH_ACK_MESSAGE,)

    def __init__(self, acking: Acking) -> None:
        self._acking = acking

    def handle(self, request: Request[Header]) -> Response:
        if not request.body:
            return Response(ResponseCode.NO_MESSAGE)
        asked = decode_request(BatchAckMessageRequestBody, request.body)
        if not asked.acks:
            return Response(ResponseCode.NO_MESSAGE)
        durable_at = -1
        with self._acking.puts():
            for entry in asked.acks:
                try:
                    durable_at = max(durable_at, self._acking.ack_batch(entry, asked.broker_name))
                except CodecError as error:
                    # As in the original, those before it count.
                    raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        return Response(
            ResponseCode.SUCCESS,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
