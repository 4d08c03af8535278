"""What a broker is announced as, changed while it runs: its address for clients, and its name.

Container classes of tests learn a mapped port after the start, and then set brokerIP1, listenPort and brokerName
inside the container. The sockets stay. Who may is decided by the caller; from elsewhere these keys are ordinary
settings (`running.py`).
"""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

from trimq.broker.cluster.registration import Registration
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError
from trimq.settings.running import RunningSettings

# A label of a host name; an underscore is in many a container's name.
_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_LONGEST_HOST: Final = 253
_LONGEST_NAME: Final = 255
_PORT: Final = re.compile(r"[0-9]{1,5}", re.ASCII)


class AnnouncedSettings:
    """The running settings for those who may have others announced."""

    def __init__(
        self, settings: RunningSettings, registration: Registration, timeout_millis: int
    ) -> None:
        """`timeout_millis`: for the NameServers (registerBrokerTimeoutMills)."""
        self._settings = settings
        self._registration = registration
        self._timeout = timeout_millis / 1000

    async def update(self, values: Mapping[str, str]) -> str | None:
        """As `RunningSettings.update`; returns when the NameServers know what is announced."""
        _check(values)
        before = self._registration.changes
        said = await self._settings.update(values, self._announce)
        if self._registration.changes != before and not await self._registration.settled(
            self._timeout
        ):
            said = "; ".join(filter(None, (said, "not every NameServer has answered yet")))
        return said

    def _announce(self, values: Mapping[str, Any]) -> None:
        self._registration.change(
            name=values.get("brokerName", ""),
            host=values.get("brokerIP1", ""),
            port=values.get("listenPort", 0),
        )


def _check(values: Mapping[str, str]) -> None:
    """RemotingError for what cannot be announced."""
    checks = {"brokerIP1": wrong_host, "listenPort": wrong_port, "brokerName": _wrong_name}
    for key in checks.keys() & values.keys():
        text = values[key].strip()
        why = checks[key](text)
        if why is not None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{key}={text[:100]}: {why}")


def wrong_host(text: str) -> str | None:
    """Only what it looks like: a name need not resolve here for clients to find it."""
    try:
        address = ip_address(text)
    except ValueError:
        labels = text.removesuffix(".").split(".")
        is_name = all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal()
        if is_name and len(text) <= _LONGEST_HOST:
            return None
        return "must be an IP address or a host name that clients can connect to"
    if address.is_unspecified or address.is_multicast:
        return "must be an address that clients can connect to"
    return None


def wrong_port(text: str) -> str | None:
    if _PORT.fullmatch(text) and 1 <= int(text) <= 65535:
        return None
    return "must be a port that clients can connect to, from 1 to 65535"


def _wrong_name(text: str) -> str | None:
    """The real broker takes any; blanks divide what its POP handles consist of."""
    if text.isprintable() and " " not in text and 0 < len(text) <= _LONGEST_NAME:
        return None
    return f"must be a name of 1 to {_LONGEST_NAME} printable characters without blanks"
