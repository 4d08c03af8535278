"""The preamble with which a load balancer says whose connection it forwards (HAProxy's PROXY
protocol, versions 1 and 2).

Version 1 is a line of at most 107 bytes: `PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911`. Version 2: 12 fixed bytes, one
of version and command, one of family and transport, two of length, addresses, and extensions, which are skipped.
Neither begins like a frame or like TLS: as a length their first bytes are beyond every limit.

RocketMQ accepts one from anybody; here only addresses that the configuration names may send one.
"""

import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

import trio

Networks = Sequence[IPv4Network | IPv6Network]

# What the two versions begin with.
FIRST_BYTES: Final = frozenset(b"P\r")

_LINE_MOST: Final = 107
_SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
_HEAD: Final = struct.Struct("!12sBBH")
_LOCAL, _PROXY = 0x20, 0x21
# Family (the upper half of its byte): bytes of one address. Others are unknown, or not internet
# addresses.
_ADDRESS_BYTES: Final = {1: 4, 2: 16}


class PreambleError(Exception):
    """Bytes that begin like a preamble and are not one, or come from a sender that may not send one."""


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """`192.0.2.7, 10.0.0.0/8`; ValueError names the word that is wrong."""
    return tuple(ip_network(word) for word in text.replace(",", " ").replace(";", " ").split())


def is_in(remote_addr: str, networks: Networks) -> bool:
    """Whether "ip:port" lies in one of them."""
    host = ip_address(remote_addr.rpartition(":")[0].strip("[]"))
    if isinstance(host, IPv6Address) and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    return any(host in network for network in networks)


def parse_line(line: bytes) -> str | None:
    """Version 1, with its line end: "ip:port" of the client, None when it does not say."""
    words = line.removesuffix(b"\r\n").decode("latin-1").split(" ")
    if words[:2] == ["PROXY", "UNKNOWN"]:
        return None
    if len(words) != 6 or words[0] != "PROXY" or words[1] not in ("TCP4", "TCP6"):
        raise PreambleError(f"not a line of the PROXY protocol: {line!r}")
    kind = IPv4Address if words[1] == "TCP4" else IPv6Address
    try:
        source, _ = kind(words[2]), kind(words[3])
    except ValueError as error:
        raise PreambleError(f"in a PROXY line: {error}") from None
    port, _ = (_port(word) for word in words[4:])
    return _told(source, port)


def _port(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and 0 < int(word[:6]) <= 0xFFFF):
        raise PreambleError(f"in a PROXY line: {word!r} is not a port")
    return int(word)


def rest_length(head: bytes) -> int:
    """How many bytes follow the 16 that version 2 begins with."""
    signature, command, _, length = _HEAD.unpack(head)
    if signature != _SIGNATURE:
        raise PreambleError(f"not the PROXY protocol's signature: {signature!r}")
    if command not in (_LOCAL, _PROXY):
        raise PreambleError(f"unknown version and command of the PROXY protocol: {command:#x}")
    return int(length)


def parse_rest(head: bytes, rest: bytes) -> str | None:
    """Version 2: "ip:port" of the client, None when it does not say."""
    _, command, family, _ = _HEAD.unpack(head)
    size = _ADDRESS_BYTES.get(family >> 4)
    # LOCAL is the load balancer's own connection, to check whether we are alive.
    if command == _LOCAL or size is None:
        return None
    if len(rest) < 2 * size + 4:
        raise PreambleError(f"{len(rest)} bytes are too few for the PROXY protocol's addresses")
    source = IPv4Address(rest[:size]) if size == 4 else IPv6Address(rest[:size])
    return _told(source, int.from_bytes(rest[2 * size : 2 * size + 2]))


def _told(host: IPv4Address | IPv6Address, port: int) -> str | None:
    # As RocketMQ: without a port it is not an address.
    if not port:
        return None
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"


async def read_preamble(sock: socket.socket, first: int) -> str | None:
    """Read the preamble, and nothing after it, from a non-blocking socket that begins with `first`.

    The client's "ip:port", None when the load balancer does not say; PreambleError for anything
    else. Waits as long as it takes: callers set the time.
    """
    if first != _SIGNATURE[0]:
        return parse_line(await _line(sock))
    head = await _exactly(sock, _HEAD.size)
    return parse_rest(head, await _exactly(sock, rest_length(head)))


async def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await _some(sock, size - len(data))
    return data


async def _line(sock: socket.socket) -> bytes:
    data = b""
    while len(data) < _LINE_MOST:
        # Peeked at first: what follows the line must stay in the socket.
        there = await _some(sock, _LINE_MOST - len(data), socket.MSG_PEEK)
        end = (data + there).find(b"\r\n")
        wanted = len(there) if end < 0 else end + 2 - len(data)
        data += sock.recv(wanted)
        if end >= 0:
            return data
    raise PreambleError(f"a PROXY line of more than {_LINE_MOST} bytes")


async def _some(sock: socket.socket, most: int, flags: int = 0) -> bytes:
    while True:
        await trio.lowlevel.wait_readable(sock)
        try:
            data = sock.recv(most, flags)
        except BlockingIOError:
            continue
        if not data:
            raise PreambleError("the connection ended within the PROXY protocol's preamble")
        return data
