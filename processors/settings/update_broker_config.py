"""UPDATE_BROKER_CONFIG: change settings of the running broker."""

from collections.abc import Callable
from functools import partial

from trimq.codec.codes import RequestCode
from trimq.processors._config_update import Settings, update_settings
from trimq.remoting.contract import Later, Peer, Processor, Request


class UpdateBrokerConfig(Processor[None]):
    """Who is on this host may change more: what clients are told of the broker."""

    codes = (RequestCode.UPDATE_BROKER_CONFIG,)

    def __init__(
        self, settings: Settings, of_this_host: Settings, is_of_this_host: Callable[[Peer], bool]
    ) -> None:
        """`of_this_host`: the settings for peers on this host."""
        self._settings = settings
        self._of_this_host = of_this_host
        self._is_of_this_host = is_of_this_host

    def handle(self, request: Request[None]) -> Later:
        near = self._is_of_this_host(request.peer)
        settings = self._of_this_host if near else self._settings
        return Later(request, partial(update_settings, settings))
