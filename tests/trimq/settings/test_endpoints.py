"""Addresses and the group of ports that a broker needs."""

import pytest

from trimq.settings.endpoints import AddressError, Endpoint, told_address
from trimq.settings.listening import bind_broker, check_free, listen


def test_parse_reads_hosts_and_ports() -> None:
    assert Endpoint.parse("127.0.0.1:9876") == Endpoint("127.0.0.1", 9876)
    assert Endpoint.parse("[::1]:0") == Endpoint("::1", 0)
    assert str(Endpoint("::1", 5)) == "[::1]:5"


@pytest.mark.parametrize("text", ["", "localhost", "localhost:", ":9876", "a:b", "a:70000"])
def test_parse_refuses_what_is_not_an_address(text: str) -> None:
    with pytest.raises(AddressError, match="write HOST:PORT"):
        Endpoint.parse(text)


def test_port_0_picks_a_port_with_those_for_vip_and_slaves() -> None:
    sockets = bind_broker(Endpoint("127.0.0.1", 0))
    try:
        assert sockets.main[0].getsockname()[1] == sockets.port
        assert sockets.vip[0].getsockname()[1] == sockets.port - 2
        assert sockets.ha_port == sockets.port + 1
    finally:
        sockets.close()


def test_a_port_in_use_is_reported() -> None:
    with listen(Endpoint("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressError, match=f"port {port} on 127.0.0.1 is in use"):
            listen(Endpoint("127.0.0.1", port))
        with pytest.raises(AddressError, match="another port with --listen or --namesrv-listen "):
            listen(Endpoint("127.0.0.1", port))
        with pytest.raises(AddressError, match="another port with --grpc "):
            listen(Endpoint("127.0.0.1", port), option="--grpc")
        with pytest.raises(AddressError, match="another port with --grpc "):
            check_free(Endpoint("127.0.0.1", port), "--grpc")
    check_free(Endpoint("127.0.0.1", port), "--grpc")


def test_of_two_that_start_at_once_one_is_told_that_the_port_is_in_use() -> None:
    free = bind_broker(Endpoint("127.0.0.1", 0))
    free.close()
    endpoint = Endpoint("127.0.0.1", free.port)
    first, second = bind_broker(endpoint), bind_broker(endpoint)
    try:
        first.listen(slaves=True)
        with pytest.raises(AddressError, match=f"port {endpoint.port} on 127.0.0.1 is in use"):
            second.listen(slaves=True)
        with pytest.raises(AddressError, match="is in use"):
            bind_broker(endpoint)
    finally:
        first.close()
        second.close()


def test_clients_are_never_told_a_wildcard_address() -> None:
    assert told_address(Endpoint("127.0.0.1", 1)) == "127.0.0.1"
    assert told_address(Endpoint("0.0.0.0", 1)) not in ("0.0.0.0", "")
