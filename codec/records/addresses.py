"""Hosts as records and message ids hold them: 4 or 16 address bytes and the port as an int."""

import struct
from ipaddress import IPv6Address, ip_address
from typing import Final

from trimq.codec.errors import CodecError

_PORT: Final = struct.Struct(">i")


def pack_host(text: str) -> bytes:
    """`1.2.3.4:5`, `[::1]:5` or `::1:5` to 8 or 20 bytes."""
    host, colon, port_text = text.rpartition(":")
    if not colon or not port_text.isdecimal() or int(port_text) > 0xFFFF:
        raise CodecError(f"{text!r} is not HOST:PORT")
    try:
        return ip_address(host.strip("[]")).packed + _PORT.pack(int(port_text))
    except ValueError as error:
        raise CodecError(f"{text!r} holds no IP address: {error}") from None


def unpack_host(packed: bytes) -> str:
    """8 or 20 bytes to `1.2.3.4:5` or `[::1]:5`."""
    if len(packed) not in (8, 20):
        raise CodecError(f"a packed host has 8 or 20 bytes, not {len(packed)}")
    address = packed[:-4]
    port = _PORT.unpack_from(packed, len(address))[0]
    if len(address) == 4:
        return f"{address[0]}.{address[1]}.{address[2]}.{address[3]}:{port}"
    return f"[{IPv6Address(address)}]:{port}"
