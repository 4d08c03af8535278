"""CHANGE_MESSAGE_INVISIBLETIME (200053): a popped message shall come again at another time."""

from trimq.broker.pop.acking import Acking
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class ChangeMessageInvisibleTime(Processor[ChangeInvisibleTimeRequestHeader]):
    codes = (RequestCode.CHANGE_MESSAGE_INVISIBLETIME,)
    header = ChangeInvisibleTimeRequestHeader

    def __init__(self, acking: Acking) -> None:
        self._acking = acking

    def handle(self, request: Request[ChangeInvisibleTimeRequestHeader]) -> Response:
        try:
            with self._acking.puts():
                pop_time, revive_queue, durable_at = self._acking.change(
                    request.header, request.peer
                )
        except RemotingError as error:
            if error.code == ResponseCode.SYSTEM_ERROR:
                # An exception there.
                raise
            # The original answers a refusal with the header, in which nothing is filled in.
            empty = ChangeInvisibleTimeResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
            return Response(error.code, error.remark, empty)
        header = ChangeInvisibleTimeResponseHeader(
            pop_time=pop_time,
            invisible_time=request.header.invisible_time,
            revive_qid=revive_queue,
        )
        return Response(
            ResponseCode.SUCCESS,
            REMARK_LEFT,
            header,
            staged=True,
            durable_at=durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
