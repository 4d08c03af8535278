"""GET_NAMESRV_CONFIG: all settings as java.util.Properties text."""

from typing import Protocol

from trimq.codec.codes import RequestCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class Settings(Protocol):
    def text(self) -> str: ...


class GetNamesrvConfig(WholeProcessor[None]):
    codes = (RequestCode.GET_NAMESRV_CONFIG,)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def answer(self, request: Request[None]) -> Response:
        return Response(body=self._settings.text().encode())
