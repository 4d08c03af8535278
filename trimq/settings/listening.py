"""Listening sockets: the one place where they are opened, or taken from those that the process was given.

A broker listens on its port p, on p - 2 (RocketMQ's VIP or "fast" port, which Java clients and slaves
compute themselves) and on p + 1 for replication, unless ``haListenPort`` names another.
"""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from trimq.settings.endpoints import AddressError, AddressSyntaxError, Endpoint, address_of
from trimq.settings.passed_sockets import BROKER, SLAVES, VIP, PassedSockets

BACKLOG = 1024
VIP_OFFSET = -2
HA_OFFSET = 1
_ATTEMPTS = 200
# Of a server; who listens for another one names its own.
_OPTIONS: Final = "--listen or --namesrv-listen"


def listen(
    endpoint: Endpoint,
    name: str = "",
    passed: PassedSockets | None = None,
    option: str = _OPTIONS,
) -> socket.socket:
    """A listening, non-blocking TCP socket bound to the endpoint. `name`: what it is for (passed_sockets.py).

    `option`: what of the command line chooses another port.
    """
    sock = _bound(endpoint, name, passed, option)
    _begin(sock, endpoint, option)
    return sock


def check_free(endpoint: Endpoint, option: str) -> None:
    """AddressError when nobody could listen there now."""
    _bound(endpoint, "", None, option).close()


def _begin(sock: socket.socket, endpoint: Endpoint, option: str = _OPTIONS) -> None:
    """Take connections, or close it; one that was passed takes them already."""
    try:
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise AddressError(_why(endpoint, error, option)) from error


def _bound(
    endpoint: Endpoint, name: str, passed: PassedSockets | None, option: str = _OPTIONS
) -> socket.socket:
    """Whoever connects to it is refused, and another server that listens there is noticed."""
    if passed is not None:
        given = passed.take(name, endpoint)
        if given is not None:
            return given
    host = endpoint.host and address_of(endpoint.host)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            # All addresses, whatever this machine's default is.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((host, endpoint.port))
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise AddressError(_why(endpoint, error, option)) from error
    return sock


def _why(endpoint: Endpoint, error: OSError, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {endpoint.port} on {endpoint.host} is in use: another broker, NameServer or proxy may be"
            f" running; stop it or choose another port with {option} (port 0 picks a free one)"
        )
    return f"cannot listen on {endpoint}: {error.strerror or error}"


_WHICH: Final = {
    VIP: "cannot listen on the VIP port of {} (its port - 2): {}",
    SLAVES: "cannot listen on the port for slaves of {} (haListenPort, or its port + 1): {}",
}


@dataclass(frozen=True, slots=True)
class BrokerSockets:
    """The sockets of a broker: for clients, for those that compute its VIP port, for slaves.

    Of each kind one for every address. Nobody can connect before `listen`.
    """

    main: Sequence[socket.socket]
    vip: Sequence[socket.socket]
    ha: Sequence[socket.socket]
    port: int

    @property
    def ha_port(self) -> int:
        port: int = self.ha[0].getsockname()[1]
        return port

    def listen(self, *, slaves: bool) -> None:
        """Let clients connect from here on, and slaves if they are served.

        AddressError if somebody was quicker: they are all closed then.
        """
        with ExitStack() as failed:
            failed.callback(self.close)
            for sock in (*self.main, *self.vip, *(self.ha if slaves else ())):
                host, port, *_ = sock.getsockname()
                _begin(sock, Endpoint(host, port))
            failed.pop_all()

    def again(self) -> "BrokerSockets":
        """The same sockets for who closes them when it ends: these stay open, and whoever connects meanwhile waits."""
        main, vip, ha = ([sock.dup() for sock in some] for some in (self.main, self.vip, self.ha))
        return BrokerSockets(main, vip, ha, self.port)

    def close(self) -> None:
        for sock in (*self.main, *self.vip, *self.ha):
            sock.close()


def broker_endpoints(
    endpoint: Endpoint, ha_port: int = 0, more_hosts: Sequence[str] = ()
) -> Iterator[tuple[str, Endpoint]]:
    """What a broker listens on, by what it is for: three for each address."""
    for host in (endpoint.host, *more_hosts):
        yield BROKER, Endpoint(host, endpoint.port)
        yield VIP, Endpoint(host, endpoint.port + VIP_OFFSET)
        yield SLAVES, Endpoint(host, ha_port or endpoint.port + HA_OFFSET)


def bind_broker(
    endpoint: Endpoint,
    ha_port: int = 0,
    more_hosts: Sequence[str] = (),
    passed: PassedSockets | None = None,
) -> BrokerSockets:
    """Bind a broker's port p, its VIP port p - 2, and `ha_port` or p + 1 for slaves, on `more_hosts` too.

    Clients are refused until it listens, as by the real broker: they turn to another one at once, where a connection
    that nobody serves would make them wait while the store is opened.

    With port 0 a p is picked so that p - 2 and p + 1 are free too. The VIP port of an explicit
    port must be free as well: Java clients with ``vipChannelEnabled`` go there without asking.
    """
    if endpoint.port:
        if endpoint.port + VIP_OFFSET < 1 or endpoint.port + HA_OFFSET > 65535:
            raise AddressSyntaxError(
                f"a broker also needs its port - 2 and its port + 1: {endpoint} does not have both"
            )
        return _bind_each(endpoint, ha_port, more_hosts, passed)
    last: AddressError | None = None
    for _ in range(_ATTEMPTS):
        with listen(endpoint) as probe:
            port = probe.getsockname()[1]
        if not 1026 <= port <= 65534:
            continue
        try:
            sockets = _bind_each(Endpoint(endpoint.host, port), ha_port, more_hosts, None)
            # Nobody knows them yet, and nobody else shall pick them meanwhile.
            sockets.listen(slaves=True)
        except AddressError as error:
            last = error
        else:
            return sockets
    raise AddressError(f"no free group of ports on {endpoint.host}: {last}")


def _bind_each(
    endpoint: Endpoint, ha_port: int, more_hosts: Sequence[str], passed: PassedSockets | None
) -> BrokerSockets:
    sockets: dict[str, list[socket.socket]] = {BROKER: [], VIP: [], SLAVES: []}
    with ExitStack() as opened:
        for name, wanted in broker_endpoints(endpoint, ha_port, more_hosts):
            try:
                sock = _bound(wanted, name, passed)
            except AddressError as error:
                if name == BROKER:
                    raise
                broker = Endpoint(wanted.host, endpoint.port)
                raise AddressError(_WHICH[name].format(broker, error)) from error
            opened.callback(sock.close)
            sockets[name].append(sock)
        opened.pop_all()
    return BrokerSockets(sockets[BROKER], sockets[VIP], sockets[SLAVES], endpoint.port)
