"""A broker that goes by another name or address while it is registered."""

from pathlib import Path

import pytest
import trio.testing

from tests.broker.cluster.test_registration import Broker, name_server
from trimq.codec.headers.base import Header
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader, UnRegisterBrokerRequestHeader


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


def told(header: Header) -> tuple[str, str | None, str | None]:
    assert isinstance(header, RegisterBrokerRequestHeader | UnRegisterBrokerRequestHeader)
    kind = "in" if isinstance(header, RegisterBrokerRequestHeader) else "out"
    return kind, header.broker_name, header.broker_addr


async def test_the_former_one_leaves_before_the_new_one_comes(broker: Broker) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        registration.change(host="h")
        assert not await registration.settled(0)
        assert await registration.settled(20)
        registration.change(name="broker-b", port=7)
        assert await registration.settled(20)
        # What is as before is not told.
        registration.change(name="broker-b", host="h", port=7)
        assert await registration.settled(20)
        assert list(map(told, server.headers)) == [
            ("in", "broker-a", "10.0.0.1:10911"),
            ("out", "broker-a", "10.0.0.1:10911"),
            ("in", "broker-a", "h:10911"),
            ("out", "broker-a", "h:10911"),
            ("in", "broker-b", "h:7"),
        ]
        last = server.headers[-1]
        assert isinstance(last, RegisterBrokerRequestHeader)
        assert last.ha_server_addr == "10.0.0.1:10912"


async def test_two_changes_in_one_go_are_told_together(broker: Broker) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        registration.change(host="::1")
        registration.change(port=7)
        broker.create("T")
        assert await registration.settled(20)
        assert list(map(told, server.headers)) == [
            ("in", "broker-a", "10.0.0.1:10911"),
            ("out", "broker-a", "10.0.0.1:10911"),
            ("out", "broker-a", "[::1]:10911"),
            ("in", "broker-a", "[::1]:7"),
        ]
        table = server.bodies[-1].topic_config_serialize_wrapper.topic_config_table
        assert table.keys() >= {"T", "TBW102"}


async def test_back_again_takes_nothing_back_that_is_in_use(broker: Broker) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        registration.change(name="other")
        registration.change(name="broker-a")
        assert await registration.settled(20)
        assert list(map(told, server.headers)) == [
            ("in", "broker-a", "10.0.0.1:10911"),
            ("out", "other", "10.0.0.1:10911"),
            ("in", "broker-a", "10.0.0.1:10911"),
        ]


async def test_a_name_server_that_comes_back_is_told_then(
    broker: Broker, mock_clock: trio.testing.MockClock
) -> None:
    async with broker.registered() as nobody:
        nobody.change(host="nobody")
        assert await nobody.settled(20)
    async with name_server() as server:
        port = int(server.addr.rpartition(":")[2])
    async with broker.registered(server.addr) as registration:
        registration.change(name="broker-b")
        assert await registration.settled(20)
        async with name_server(port) as again:
            mock_clock.autojump_threshold = 0.01
            assert await again.heard() == "bye"
            assert await again.heard() == "all"
            assert list(map(told, again.headers)) == [
                ("out", "broker-a", "nobody:10911"),
                ("in", "broker-b", "nobody:10911"),
            ]
