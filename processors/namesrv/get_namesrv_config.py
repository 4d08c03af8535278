"""GET_NAMESRV_CONFIG: all settings as java.util.Properties text."""

from trimq.codec.codes import RequestCode
from trimq.namesrv.config import NamesrvSettings
from trimq.remoting.contract import Processor, Request, Response


class GetNamesrvConfig(Processor[None]):
    codes = (RequestCode.GET_NAMESRV_CONFIG,)

    def __init__(self, settings: NamesrvSettings) -> None:
        self._settings = settings

    def handle(self, request: Request[None]) -> Response:
        return Response(body=self._settings.text().encode())
