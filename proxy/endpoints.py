"""The address that clients are told: the one that they called, unless another one is set.

So a mapped port just works, and a client is never sent to an address that it cannot reach.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos import definition_pb2 as protos


class Endpoints:
    """`advertise`: HOST:PORT for everybody; empty: what the client called."""

    def __init__(self, advertise: str = "") -> None:
        self._advertise = advertise

    def of(self, caller: Caller, asked: protos.Endpoints) -> protos.Endpoints:
        """What the request says its client has called, or what the call itself was sent to."""
        if not self._advertise and asked.addresses:
            return asked
        return endpoints_of(self._advertise or caller.called or caller.local_addr)


def endpoints_of(address: str) -> protos.Endpoints:
    """HOST:PORT, with an IPv6 address in brackets."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    scheme = protos.AddressScheme.DOMAIN_NAME
    try:
        is_v6 = isinstance(ip_address(host), IPv6Address)
        scheme = protos.AddressScheme.IPv6 if is_v6 else protos.AddressScheme.IPv4
    except ValueError:
        pass
    endpoints = protos.Endpoints(scheme=scheme)
    endpoints.addresses.add(host=host, port=int(port) if port.isdecimal() else 0)
    return endpoints
