"""DELETE_EXPIRED_COMMITLOG: old commit-log files may go at any hour, for the next 20 rounds."""

from typing import Protocol

from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response


class Cleaning(Protocol):
    def order(self) -> None: ...


class DeleteExpiredCommitlog(Processor[None]):
    """The answer says that it was ordered, not that it is done, like the real broker's."""

    codes = (RequestCode.DELETE_EXPIRED_COMMITLOG,)

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning = cleaning

    def handle(self, request: Request[None]) -> Response:
        self._cleaning.order()
        return Response()
