"""UPDATE_NAMESRV_CONFIG: change settings of the running NameServer."""

from collections.abc import Callable

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.namesrv.config import NamesrvSettings
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class UpdateNamesrvConfig(Processor[None]):
    """The body is java.util.Properties text; ``parse`` reads it, or raises ValueError."""

    codes = (RequestCode.UPDATE_NAMESRV_CONFIG,)

    def __init__(self, settings: NamesrvSettings, parse: Callable[[str], dict[str, str]]) -> None:
        self._settings = settings
        self._parse = parse

    def handle(self, request: Request[None]) -> Response:
        if not request.body:
            return Response()
        try:
            values = self._parse(request.body.decode(errors="replace"))
        except ValueError:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
        if self._settings.refused(values):
            remark = "Can not update config in black list."
            raise RemotingError(ResponseCode.NO_PERMISSION, remark)
        self._settings.update(values)
        return Response()
