"""What a slave does not do, in the words of a broker that is too busy (NettyRemotingAbstract, rejectRequest)."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, Request, Response

REMARK = "[REJECTREQUEST]system busy, start flow control for a while"


class RefuseSends(Processor[None]):
    """SendMessageProcessor on a slave."""

    codes = (
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
    )

    def handle(self, request: Request[None]) -> Response:
        return Response(ResponseCode.SYSTEM_BUSY, REMARK)


class RefusePulls(Processor[None]):
    """PullMessageProcessor on a slave without slaveReadEnable."""

    codes = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)

    def handle(self, request: Request[None]) -> Response:
        return Response(ResponseCode.SYSTEM_BUSY, REMARK)
