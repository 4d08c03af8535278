"""UPDATE_NAMESRV_CONFIG: change settings of the running NameServer."""

from trimq.codec.codes import RequestCode
from trimq.processors._config_update import Settings, update_settings
from trimq.remoting.contract import Later, Processor, Request, Response


class UpdateNamesrvConfig(Processor[None]):
    codes = (RequestCode.UPDATE_NAMESRV_CONFIG,)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        return await update_settings(self._settings, request)
