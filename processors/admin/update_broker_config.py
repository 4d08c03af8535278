"""UPDATE_BROKER_CONFIG: change settings of the running broker."""

from collections.abc import Callable, Mapping
from typing import Protocol

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class Settings(Protocol):
    def refused(self, keys: Mapping[str, str]) -> bool: ...

    async def update(self, values: Mapping[str, str]) -> None: ...


class UpdateBrokerConfig(Processor[None]):
    """The body is java.util.Properties text; `parse` reads it, or raises ValueError.

    AdminBrokerProcessor.updateBrokerConfig succeeds whatever the keys and values are, except for
    forbidden keys (NO_PERMISSION). Here a value outside of its limits is a SYSTEM_ERROR.
    """

    codes = (RequestCode.UPDATE_BROKER_CONFIG,)
    waits = True

    def __init__(self, settings: Settings, parse: Callable[[str], dict[str, str]]) -> None:
        self._settings = settings
        self._parse = parse

    async def handle(self, request: Request[None]) -> Response:
        if not request.body:
            return Response()
        try:
            values = self._parse(request.body.decode(errors="replace"))
        except ValueError:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
        if self._settings.refused(values):
            remark = "Can not update config in black list."
            raise RemotingError(ResponseCode.NO_PERMISSION, remark)
        try:
            await self._settings.update(values)
        except ValueError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from error
        return Response()
