"""Where a server's own proxy listens, and what its command is told. Loads nothing of the proxy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimq.settings.endpoints import AddressSyntaxError, Endpoint
from trimq.settings.parsing import SettingsError
from trimq.settings.proxy_extra import check_extra


@dataclass(frozen=True, slots=True)
class ProxySeat:
    """`words`: of its command, besides its address. `config`: its file, which they name."""

    listen: Endpoint
    words: tuple[str, ...] = ()
    config: Path | None = None


def proxy_seat(
    text: str | None, config: Path | None = None, words: Sequence[str] = ()
) -> ProxySeat | None:
    """None: no proxy. A port alone means the loopback. SettingsError, AddressSyntaxError."""
    if text is None:
        if config is not None:
            raise SettingsError("--grpc-config says nothing without --grpc")
        return None
    port = text.removeprefix(":")
    try:
        listen = Endpoint.parse(f"127.0.0.1:{port}" if port.isdecimal() else text)
    except AddressSyntaxError as error:
        raise AddressSyntaxError(f"--grpc: {error}") from None
    check_extra()
    told = ("--config", str(config)) if config is not None else ()
    return ProxySeat(listen, (*told, *words), config)
