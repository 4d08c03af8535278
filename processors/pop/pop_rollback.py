"""POP_ROLLBACK (200056): moves POP's records out of RocksDB, where TriMQ never has any."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, Request, Response


class PopRollback(Processor[Header]):
    codes = (RequestCode.POP_ROLLBACK,)

    def handle(self, request: Request[Header]) -> Response:
        return Response(ResponseCode.SUCCESS, REMARK_LEFT)
