"""UPDATE_NAMESRV_CONFIG: change settings of the running NameServer."""

from functools import partial

from trimq.codec.codes import RequestCode
from trimq.processors._config_update import Settings, update_settings
from trimq.remoting.contract import Later, Processor, Request


class UpdateNamesrvConfig(Processor[None]):
    codes = (RequestCode.UPDATE_NAMESRV_CONFIG,)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def handle(self, request: Request[None]) -> Later:
        return Later(request, partial(update_settings, self._settings))
