"""RESET_MASTER_FLUSH_OFFSET: what a slave believes its master has flushed; a master ignores it."""

from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response


class ResetMasterFlushOffset(Processor[None]):
    """No broker of ours keeps such an offset, so there is nothing to reset."""

    codes = (RequestCode.RESET_MASTER_FLUSH_OFFSET,)

    def handle(self, request: Request[None]) -> Response:
        # A master does not even read the header.
        return Response()
