"""GET_BROKER_CONFIG: all settings as java.util.Properties text."""

from typing import Protocol

from trimq.codec.codes import RequestCode
from trimq.codec.headers.brokers import GetBrokerConfigResponseHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class Settings(Protocol):
    @property
    def version(self) -> str: ...

    def text(self) -> str: ...


class GetBrokerConfig(WholeProcessor[None]):
    """The header has the version of the settings, a DataVersion as JSON."""

    codes = (RequestCode.GET_BROKER_CONFIG,)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def answer(self, request: Request[None]) -> Response:
        header = GetBrokerConfigResponseHeader(version=self._settings.version)
        return Response(header=header, body=self._settings.text().encode())
