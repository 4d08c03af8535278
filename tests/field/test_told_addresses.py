"""A broker is where it says that it is (apache/rocketmq 8549, 6923, 7822; spring-cloud-alibaba 2250).

Tried: a file with `brokerIP1=::1` and nothing else said. It was ready and registered, and nobody listened there.
Right, as the real broker, which listens everywhere: a client that is told an address gets through, or the start is
refused with a sentence. With a listening address of one's own it is a warning: something may forward.
"""

import logging
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from compat_tests.servers.processes import free_port
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.client import Client
from trimq.serving import reachable as module
from trimq.serving.reachable import reachable
from trimq.serving.server import open_server
from trimq.settings import endpoints
from trimq.settings.endpoints import Endpoint, is_of_this_machine
from trimq.settings.options import ServerOptions, server_plan, told_endpoint
from trimq.settings.parsing import SettingsError

NAMES: Final[Mapping[str, list[str]]] = {
    "six-first": ["::1", "127.0.0.1"],
    "own-name": ["127.0.1.1"],
    "six-only": ["::1"],
    "both-nets": ["127.0.0.1", "192.0.2.7"],
    "outside": ["192.0.2.9"],
}
HERE: Final = {"127.0.0.1", "127.0.0.2", "127.0.1.1", "::1", "192.0.2.7", "2001:db8::7"}
REFUSED, WARNED = "refused", "warned"
# What is told and where to listen; the result: which hosts are listened on beside, or what is said.
TABLE: Final[list[tuple[dict[str, str], Any]]] = [
    ({}, ()),
    ({"brokerIP1": "127.0.0.1"}, ()),
    ({"brokerIP1": "127.0.0.2"}, ("127.0.0.2",)),
    ({"brokerIP1": "::1"}, ("::1",)),
    ({"brokerIP1": "six-first"}, ("::1",)),
    ({"brokerIP1": "six-only"}, ("::1",)),
    ({"brokerIP1": "own-name"}, ("127.0.1.1",)),
    ({"brokerIP1": "both-nets"}, REFUSED),
    ({"brokerIP1": "192.0.2.7"}, REFUSED),
    ({"brokerIP1": "2001:db8::7"}, REFUSED),
    ({"brokerIP1": "outside"}, REFUSED),
    ({"brokerIP2": "127.0.0.2"}, ("127.0.0.2",)),
    ({"brokerIP2": "::1", "brokerIP1": "127.0.0.2"}, ("127.0.0.2", "::1")),
    ({"brokerIP2": "192.0.2.7"}, REFUSED),
    ({"brokerIP2": "192.0.2.7", "haEnable": "false"}, ()),
    ({"brokerIP2": "::1", "haListenPort": "20001"}, ("::1",)),
    ({"advertise": "[::1]:10911"}, ("::1",)),
    ({"advertise": "[::1]:0"}, ("::1",)),
    ({"advertise": "127.0.0.2:10911"}, ("127.0.0.2",)),
    ({"advertise": "192.0.2.7:10911"}, REFUSED),
    ({"advertise": "[2001:db8::7]:10911"}, REFUSED),
    # From another port something forwards.
    ({"advertise": "127.0.0.1:31000"}, ()),
    ({"advertise": "[::1]:31000"}, ()),
    # --advertise counts more than brokerIP1.
    ({"advertise": "127.0.0.1:10911", "brokerIP1": "192.0.2.7"}, ()),
    # Wildcards serve their kind of addresses.
    ({"listen": "0.0.0.0:10911"}, ()),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "127.0.0.2"}, ()),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "192.0.2.7"}, ()),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "outside"}, ()),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "::1"}, WARNED),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "2001:db8::7"}, WARNED),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "six-first"}, ()),
    ({"listen": "0.0.0.0:10911", "brokerIP1": "six-only"}, WARNED),
    ({"listen": "[::]:10911", "brokerIP1": "::1"}, ()),
    ({"listen": "[::]:10911", "brokerIP1": "2001:db8::7"}, ()),
    ({"listen": "[::]:10911", "brokerIP1": "192.0.2.7"}, ()),
    ({"bindAddress": "0.0.0.0", "brokerIP1": "192.0.2.7", "brokerIP2": "::1"}, WARNED),
    # One address, and another one told.
    ({"listen": "127.0.0.1:10911", "brokerIP1": "::1"}, WARNED),
    ({"listen": "[::1]:10911", "brokerIP1": "::1"}, ()),
    ({"listen": "[::1]:10911", "brokerIP1": "127.0.0.1"}, WARNED),
    ({"listen": "[::1]:10911", "brokerIP1": "six-first"}, ()),
    ({"listen": "127.0.0.1:10911", "brokerIP1": "127.0.0.2"}, WARNED),
    ({"listen": "192.0.2.7:10911", "brokerIP1": "192.0.2.7"}, ()),
    ({"listen": "192.0.2.7:10911", "brokerIP1": "outside"}, ()),
    ({"listen": "192.0.2.7:10911", "brokerIP1": "127.0.0.1"}, WARNED),
]


@pytest.fixture
def made_up_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its names and addresses."""

    def addresses(host: str) -> list[str]:
        if host in NAMES:
            return NAMES[host]
        return endpoints.addresses_of(host)

    monkeypatch.setattr(module, "addresses_of", addresses)
    monkeypatch.setattr(module, "is_of_this_machine", HERE.__contains__)
    monkeypatch.setattr("trimq.settings.options.address_of", lambda host: addresses(host)[0])


@pytest.mark.parametrize(("given", "outcome"), TABLE, ids=str)
def test_an_address_that_is_told_is_served(
    made_up_machine: None, given: dict[str, str], outcome: Any, caplog: pytest.LogCaptureFixture
) -> None:
    flags = {key: given[key] for key in ("listen", "advertise") if key in given}
    settings = {key: text for key, text in given.items() if key not in flags}
    plan = server_plan(ServerOptions(store=Path("data"), settings=settings, **flags))  # type: ignore[arg-type]
    chosen = "listen" in flags or "bindAddress" in settings
    if outcome == REFUSED:
        with pytest.raises(SettingsError, match=r"where nothing would listen.*Add --listen"):
            reachable(plan, chosen)
        return
    found = reachable(plan, chosen)
    warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
    if outcome == WARNED:
        assert found.more_hosts == ()
        assert ["nobody will get through" in one.getMessage() for one in warnings] == [True]
    else:
        assert found.more_hosts == outcome
        assert not warnings


def test_what_to_add_fits_the_address(made_up_machine: None) -> None:
    options = ServerOptions(store=Path("data"), settings={"brokerIP1": "2001:db8::7"})
    with pytest.raises(SettingsError, match=re.escape("--listen [::]:10911, or bindAddress=::")):
        reachable(server_plan(options), chosen=False)


def test_port_0_is_never_told() -> None:
    plan = server_plan(ServerOptions(store=Path("data"), advertise="[::1]:0"))
    assert told_endpoint(plan, 1234) == Endpoint("::1", 1234)


LOOPBACKS: Final = [one for one in ("127.0.0.2", "::1") if is_of_this_machine(one)]


@pytest.mark.parametrize("host", LOOPBACKS)
async def test_clients_and_slaves_get_through(tmp_path: Path, host: str) -> None:
    """Nobody said where to listen: by the three ports of both addresses."""
    port = free_port()
    settings = {"brokerIP1": host, "listenPort": str(port)}
    options = ServerOptions(store=tmp_path, namesrv_listen="127.0.0.1:0", settings=settings)
    async with open_server(options) as running:
        assert running.broker_addr == str(Endpoint(host, port))
        async with Client.connect(running.broker_addr) as client:
            assert (await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)).code == 0
        for each in (host, "127.0.0.1"):
            for one in (port, port - 2, port + 1):
                stream = await trio.open_tcp_stream(each, one)
                await stream.aclose()


def test_a_machine_with_ipv6_only_tells_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    routed = {socket.AF_INET: None, socket.AF_INET6: "2001:db8::7"}
    monkeypatch.setattr(endpoints, "_own_address", {}.get)
    monkeypatch.setattr(endpoints, "_routed_address", routed.get)
    assert endpoints.told_address(Endpoint("::", 1)) == "2001:db8::7"
    # An address on which nothing would listen is not told.
    assert endpoints.told_address(Endpoint("0.0.0.0", 1)) == "127.0.0.1"
    routed[socket.AF_INET] = "192.0.2.7"
    assert endpoints.told_address(Endpoint("::", 1)) == "192.0.2.7"
