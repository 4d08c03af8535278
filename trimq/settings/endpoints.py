"""Addresses: ``HOST:PORT`` texts, what names mean, and which address clients are told."""

import socket
from dataclasses import dataclass
from ipaddress import ip_address


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
