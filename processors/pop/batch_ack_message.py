"""BATCH_ACK_MESSAGE (200151): popped messages of any checkpoints were consumed."""

from trimq.broker.pop.acknowledgements import Acknowledgements
from trimq.broker.produce.puts.rules import PutRefused
from trimq.codec.bodies.pop import decode_batch_ack
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import Header
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError


class BatchAckMessage(Processor[Header]):
    codes = (RequestCode.BATCH_ACK_MESSAGE,)
    joins_rounds = True

    def __init__(self, acking: Acknowledgements) -> None:
        self._acking = acking

    def handle(self, request: Request[Header]) -> Response:
        if not request.body:
            return Response(ResponseCode.NO_MESSAGE)
        asked = decode_batch_ack(request.body)
        if not asked.acks:
            return Response(ResponseCode.NO_MESSAGE)
        durable_at = -1
        refused: RemotingError | None = None
        broker, peer = asked.broker_name, request.peer
        for entry in asked.acks:
            try:
                durable_at = max(durable_at, self._acking.ack_batch(entry, broker, peer))
            except RemotingError as error:
                # The others count all the same (appendAck of AckMessageProcessor).
                refused = error
            except (StoreError, PutRefused) as error:
                raise self._acking.not_noted(error) from error
            except CodecError as error:
                # It alone is left out.
                refused = RemotingError(ResponseCode.SYSTEM_ERROR, str(error))
        if refused is not None:
            raise refused
        return Response(
            ResponseCode.SUCCESS,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
