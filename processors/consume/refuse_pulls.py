"""What a slave without slaveReadEnable says to consumers (PullMessageProcessor.rejectRequest)."""

from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, Request, Response

REMARK: Final = "[REJECTREQUEST]system busy, start flow control for a while"


class RefusePulls(Processor[None]):
    """In the place of both processors of pulls."""

    codes = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)

    def handle(self, request: Request[None]) -> Response:
        return Response(ResponseCode.SYSTEM_BUSY, REMARK)
