"""What a slave says to producers, in the words of a broker that is too busy (SendMessageProcessor.rejectRequest)."""

from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, Request, Response

REMARK: Final = "[REJECTREQUEST]system busy, start flow control for a while"


class RefuseSends(Processor[None]):
    """In the place of all processors of sends, and of messages that are sent back."""

    codes = (
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
    )

    def handle(self, request: Request[None]) -> Response:
        return Response(ResponseCode.SYSTEM_BUSY, REMARK)
