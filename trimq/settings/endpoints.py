"""Addresses and listening sockets: ``HOST:PORT`` texts, and ports that belong together.

A broker listens on its port p, on p - 2 (RocketMQ's VIP or "fast" port, which Java clients and slaves
compute themselves) and on p + 1 for replication, unless ``haListenPort`` names another.
"""

import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address

BACKLOG = 1024
VIP_OFFSET = -2
HA_OFFSET = 1
_ATTEMPTS = 200


class AddressError(ValueError):
    """An address that cannot be listened on."""


class AddressSyntaxError(AddressError):
    """A text that is not HOST:PORT."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and a TCP port; port 0 means "pick a free one"."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Endpoint":
        """Read ``127.0.0.1:9876``, ``[::1]:9876`` or ``localhost:9876``."""
        host, colon, port = text.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise AddressSyntaxError(
                f"'{text}' is not an address: write HOST:PORT, e.g. 127.0.0.1:9876"
            )
        return cls(host, int(port))


def listen(endpoint: Endpoint) -> socket.socket:
    """A listening, non-blocking TCP socket bound to the endpoint."""
    host = endpoint.host and address_of(endpoint.host)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            # All addresses, whatever this machine's default is.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((host, endpoint.port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise AddressError(_why(endpoint, error)) from error
    return sock


def _why(endpoint: Endpoint, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {endpoint.port} on {endpoint.host} is in use: another broker or NameServer may be"
            " running; stop it or choose another port with --listen or --namesrv-listen (port 0 picks a free one)"
        )
    return f"cannot listen on {endpoint}: {error.strerror or error}"


@dataclass(frozen=True, slots=True)
class BrokerSockets:
    """The listening sockets of a broker: for clients, for those that compute its VIP port, for slaves.

    Of each kind one for every address.
    """

    main: Sequence[socket.socket]
    vip: Sequence[socket.socket]
    ha: Sequence[socket.socket]
    port: int

    @property
    def ha_port(self) -> int:
        port: int = self.ha[0].getsockname()[1]
        return port

    def close(self) -> None:
        for sock in (*self.main, *self.vip, *self.ha):
            sock.close()


def listen_broker(
    endpoint: Endpoint, ha_port: int = 0, more_hosts: Sequence[str] = ()
) -> BrokerSockets:
    """Bind a broker's port p, its VIP port p - 2, and `ha_port` or p + 1 for slaves, on `more_hosts` too.

    With port 0 a p is picked so that p - 2 and p + 1 are free too. The VIP port of an explicit
    port must be free as well: Java clients with ``vipChannelEnabled`` go there without asking.
    """
    if endpoint.port:
        if endpoint.port + VIP_OFFSET < 1 or endpoint.port + HA_OFFSET > 65535:
            raise AddressSyntaxError(
                f"a broker also needs its port - 2 and its port + 1: {endpoint} does not have both"
            )
        return _listen_on_each(endpoint, ha_port, more_hosts)
    last: AddressError | None = None
    for _ in range(_ATTEMPTS):
        with listen(endpoint) as probe:
            port = probe.getsockname()[1]
        if not 1026 <= port <= 65534:
            continue
        try:
            return _listen_on_each(Endpoint(endpoint.host, port), ha_port, more_hosts)
        except AddressError as error:
            last = error
    raise AddressError(f"no free group of ports on {endpoint.host}: {last}")


def _listen_on_each(endpoint: Endpoint, ha_port: int, more_hosts: Sequence[str]) -> BrokerSockets:
    with ExitStack() as opened:
        groups = []
        for host in (endpoint.host, *more_hosts):
            groups.append(_listen_all(Endpoint(host, endpoint.port), ha_port))
            for sock in groups[-1]:
                opened.callback(sock.close)
        opened.pop_all()
    main, vip, ha = zip(*groups, strict=True)
    return BrokerSockets(main, vip, ha, endpoint.port)


def _listen_all(
    endpoint: Endpoint, ha_port: int
) -> tuple[socket.socket, socket.socket, socket.socket]:
    """The ports of one address."""
    with ExitStack() as opened:
        main = listen(endpoint)
        opened.callback(main.close)
        try:
            vip = listen(Endpoint(endpoint.host, endpoint.port + VIP_OFFSET))
        except AddressError as error:
            raise AddressError(
                f"cannot listen on the VIP port of {endpoint} (its port - 2): {error}"
            ) from error
        opened.callback(vip.close)
        try:
            ha = listen(Endpoint(endpoint.host, ha_port or endpoint.port + HA_OFFSET))
        except AddressError as error:
            raise AddressError(
                f"cannot listen on the port for slaves of {endpoint} (haListenPort, or its port + 1): {error}"
            ) from error
        opened.pop_all()
    return main, vip, ha


def told_address(listening: Endpoint) -> str:
    """The host that clients are told for a listening address.

    A wildcard address is of no use to a client, so it becomes the first address of this machine
    that is not a loopback one (what RocketMQ's ``brokerIP1`` defaults to), an IPv4 one if there is any.
    """
    if listening.host not in ("0.0.0.0", "::", ""):
        return address_of(listening.host)
    families = [socket.AF_INET]
    if listening.host == "::":
        families.append(socket.AF_INET6)
    for family in families:
        found = _own_address(family) or _routed_address(family)
        if found is not None:
            return found
    return "127.0.0.1"


def _own_address(family: socket.AddressFamily) -> str | None:
    """Of this machine's name; not one that is good for this machine or its own network segment only."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, family, socket.SOCK_STREAM)
    except OSError:
        return None
    hosts = (str(address[0]) for *_, address in found)
    return next((host for host in hosts if not host.startswith(("127.", "::1", "fe80:"))), None)


def _routed_address(family: socket.AddressFamily) -> str | None:
    """The local address that the routing table would use; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1" if family == socket.AF_INET else "2001:db8::1", 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None


def address_of(host: str) -> str:
    """An IP literal for a host name, IPv4 if it has one, as Java chooses.

    Records and message ids hold addresses, not names.
    """
    try:
        found = socket.getaddrinfo(host, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise AddressError(f"'{host}' does not resolve: {why}") from error
    found.sort(key=lambda one: one[0] != socket.AF_INET)
    return str(found[0][4][0])


def addresses_of(host: str) -> list[str]:
    """All IP literals of a host name; none when it does not resolve."""
    try:
        found = socket.getaddrinfo(host, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))


def is_an_own_address(address: str) -> bool:
    """Whether an IP literal is one of this machine's own. Nothing is sent.

    Who connects to an own address comes from that address. Binding to it would tell less: a machine may be allowed
    to bind to the addresses of others (`ip_nonlocal_bind`).
    """
    try:
        wanted = ip_address(address)
        wanted = getattr(wanted, "ipv4_mapped", None) or wanted
        family = socket.AF_INET if wanted.version == 4 else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(wanted), 9))
            return ip_address(probe.getsockname()[0]) == wanted
    except (OSError, ValueError):
        return False


def is_of_this_machine(address: str) -> bool:
    """Whether an IP literal is one that this machine can listen on."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
