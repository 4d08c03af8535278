"""SET_COMMITLOG_READ_MODE: how the commit log's files are read ahead; answered, without effect.

The real broker advises the kernel for whole mappings (madvise). Here nothing cold is read through a
mapping: what a reader needs next is fetched for that reader.
"""

from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.java.numbers import parse_int
from trimq.remoting.contract import Processor, RemotingError, Request, Response

_FIELD: Final = "READ_AHEAD_MODE"
# MADV_NORMAL and MADV_RANDOM.
_MODES: Final = (0, 1)


class SetCommitlogReadMode(Processor[None]):
    """Codes and remarks of AdminBrokerProcessor.setCommitLogReadaheadMode."""

    codes = (RequestCode.SET_COMMITLOG_READ_MODE,)

    def handle(self, request: Request[None]) -> Response:
        if not request.ext_fields:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode param error"
            )
        mode = parse_int(request.ext_fields.get(_FIELD, ""))
        if mode is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode failed")
        if mode not in _MODES:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, "set commitlog readahead mode param value error"
            )
        return Response(remark=f"set commitlog readahead mode success, mode: {mode}")
