"""POLLING_INFO (200055): how many pops wait for a queue's messages, or for those of all queues (-1)."""

from trimq.broker.pop.reading.checks import PopChecks
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import PollingInfoRequestHeader, PollingInfoResponseHeader
from trimq.codec.names import REMARK_LEFT
from trimq.processors._peek_checks import check_peek
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class PollingInfo(Processor[PollingInfoRequestHeader]):
    codes = (RequestCode.POLLING_INFO,)
    shows_no_fields = True
    header = PollingInfoRequestHeader

    def __init__(self, checks: PopChecks, waits: PopLongPolling) -> None:
        self._checks = checks
        self._waits = waits

    def handle(self, request: Request[PollingInfoRequestHeader]) -> Response:
        header, checks = request.header, self._checks
        try:
            check_peek(checks, header, request.peer)
        except RemotingError as error:
            # The original answers a refusal with the header, too.
            return Response(error.code, error.remark, PollingInfoResponseHeader(polling_num=0))
        waiting = len(self._waits.at(header.topic, header.consumer_group, header.queue_id))
        header_of_answer = PollingInfoResponseHeader(polling_num=waiting)
        return Response(ResponseCode.SUCCESS, REMARK_LEFT, header_of_answer)
