"""CHANGE_MESSAGE_INVISIBLETIME (200053): a popped message shall come again at another time."""

from trimq.broker.lite.acknowledgements import LiteAcknowledgements, is_lite
from trimq.broker.pop.acknowledgements import Acknowledgements
from trimq.broker.pop.order.orderly import Changed
from trimq.broker.produce.puts.rules import PutRefused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import (
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Peer, Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError


class ChangeMessageInvisibleTime(Processor[ChangeInvisibleTimeRequestHeader]):
    codes = (RequestCode.CHANGE_MESSAGE_INVISIBLETIME,)
    shows_no_fields = True
    header = ChangeInvisibleTimeRequestHeader

    def __init__(self, acking: Acknowledgements, lite: LiteAcknowledgements) -> None:
        self._acking = acking
        self._lite = lite

    def handle(self, request: Request[ChangeInvisibleTimeRequestHeader]) -> Response:
        try:
            changed = self._change(request.header, request.peer)
        except RemotingError as error:
            if error.code == ResponseCode.SYSTEM_ERROR:
                # An exception there.
                raise
            # The original answers a refusal with the header, in which nothing is filled in.
            empty = ChangeInvisibleTimeResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
            return Response(error.code, error.remark, empty)
        header = ChangeInvisibleTimeResponseHeader(
            pop_time=changed.pop_time,
            invisible_time=changed.invisible_time,
            revive_qid=changed.revive_queue,
        )
        return Response(
            ResponseCode.SUCCESS,
            REMARK_LEFT,
            header,
            staged=True,
            durable_at=changed.durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )

    def _change(self, header: ChangeInvisibleTimeRequestHeader, peer: Peer) -> Changed:
        if is_lite(header.lite_topic):
            self._acking.check_queue(header.topic, header.queue_id, peer)
            return self._lite.change(header)
        try:
            return self._acking.change(header, peer)
        except (StoreError, PutRefused) as error:
            raise self._acking.not_noted(error) from error
