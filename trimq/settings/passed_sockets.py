"""Listening sockets that this process was given at its start, and that stay open while another one takes its place.

systemd's protocol (sd_listen_fds(3)): ``LISTEN_FDS`` descriptors from 3 on, if ``LISTEN_PID`` is this process. Which of
them is whose, its address says. ``LISTEN_FDNAMES`` has a name for each, with colons between them; one of `NAMES` keeps
a socket for that purpose.
"""

import os
import socket
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from trimq.settings.endpoints import AddressError, Endpoint, address_of

# What sockets are for.
NAMESRV: Final = "namesrv"
BROKER: Final = "broker"
VIP: Final = "broker-vip"
SLAVES: Final = "broker-slaves"
METRICS: Final = "metrics"
NAMES: Final = frozenset((NAMESRV, BROKER, VIP, SLAVES, METRICS))
_FIRST: Final = 3
# More than any server has; each number is looked at.
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Passed:
    """`name`: as ``LISTEN_FDNAMES`` says, often the name of a unit."""

    name: str
    endpoint: Endpoint
    sock: socket.socket

    def is_for(self, name: str, endpoint: Endpoint) -> bool:
        if self.name in NAMES and self.name != name:
            return False
        return self.endpoint == _bound(endpoint)

    def __str__(self) -> str:
        return f"{self.endpoint} ({self.name})" if self.name else str(self.endpoint)


class PassedSockets:
    """Those that nobody has taken yet."""

    __slots__ = ("_left",)

    def __init__(self, passed: Iterable[Passed] = ()) -> None:
        self._left = list(passed)

    @classmethod
    def of_environment(cls, environ: MutableMapping[str, str]) -> "PassedSockets":
        """AddressError for what is no listening TCP socket.

        The variables are taken out: processes that this one starts are not given them.
        """
        count = environ.pop("LISTEN_FDS", "")
        owner = environ.pop("LISTEN_PID", "")
        names = environ.pop("LISTEN_FDNAMES", "").split(":")
        if not count or (owner and owner != str(os.getpid())):
            return cls()
        if not count.isdecimal() or int(count) > _MOST:
            raise AddressError(f"LISTEN_FDS={count}: no number of sockets up to {_MOST}")
        names += [""] * int(count)
        return cls(_passed(_FIRST + at, names[at]) for at in range(int(count)))

    def take(self, name: str, endpoint: Endpoint) -> socket.socket | None:
        """The one for this purpose and address; None: there is none, so it has to be opened."""
        for at, one in enumerate(self._left):
            if one.is_for(name, endpoint):
                return self._left.pop(at).sock
        return None

    def check(self, wanted: Iterable[tuple[str, Endpoint]]) -> None:
        """AddressError if there is one of which nobody would accept: whoever connected to it would wait for ever."""
        wanted = list(wanted)
        for one in self._left:
            if not any(one.is_for(name, endpoint) for name, endpoint in wanted):
                ours = ", ".join(f"{endpoint} ({name})" for name, endpoint in wanted)
                raise AddressError(
                    f"a listening socket was passed for {one}, where nothing would answer: this server listens on"
                    f" {ours}. Make the ListenStream= lines of the socket unit say the same, or remove the unit"
                    " ('trimq install-service' writes one that fits)"
                )


def _bound(endpoint: Endpoint) -> Endpoint:
    """As a socket says it of itself."""
    host = address_of(endpoint.host) if endpoint.host else "0.0.0.0"
    return Endpoint(str(ip_address(host.partition("%")[0])), endpoint.port)


def _passed(descriptor: int, name: str) -> Passed:
    # Those who open such sockets leave them open for every process that is started.
    try:
        os.set_inheritable(descriptor, False)
        sock = socket.socket(fileno=descriptor)
        is_listening = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise AddressError(f"descriptor {descriptor} of LISTEN_FDS: {error.strerror}") from error
    if not is_listening or sock.family not in (socket.AF_INET, socket.AF_INET6):
        sock.detach()
        raise AddressError(
            f"descriptor {descriptor} of LISTEN_FDS is no TCP socket that listens: the socket unit needs"
            " ListenStream=ADDRESS:PORT and no Accept="
        )
    sock.setblocking(False)
    host, port = sock.getsockname()[:2]
    return Passed(name, _bound(Endpoint(host, port)), sock)
