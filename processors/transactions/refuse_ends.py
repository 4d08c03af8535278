"""What a slave says to END_TRANSACTION: it can store nothing (EndTransactionProcessor)."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, Request, Response


class RefuseEnds(Processor[None]):
    """In the place of EndTransaction on a slave."""

    codes = (RequestCode.END_TRANSACTION,)

    def handle(self, request: Request[None]) -> Response:
        # The remark that a reply is made with is left in it.
        return Response(ResponseCode.SLAVE_NOT_AVAILABLE, REMARK_LEFT)
