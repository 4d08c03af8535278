"""What the environment and host names decide: NAMESRV_ADDR, zones, brokerIP1 as a name."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import trimq
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.remoting.clients.client import Client
from trimq.settings.options import ServerOptions, ServerPlan, server_plan
from trimq.settings.parsing import SettingsError


def plan(**options: Any) -> ServerPlan:
    settings = {key: options.pop(key) for key in ("namesrvAddr", "brokerIP1") if key in options}
    return server_plan(ServerOptions(store=Path("data"), settings=settings, **options))


def test_name_servers_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("NAMESRV_ADDR", "ns1:9876;ns2:9876")
    found = plan()
    assert found.broker.namesrv_addr == "ns1:9876;ns2:9876"
    assert found.embedded is None
    assert "NAMESRV_ADDR are used: namesrv=ns1:9876;ns2:9876" in caplog.text


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"namesrv": "flag:1"}, "flag:1"),
        ({"namesrvAddr": "file:1"}, "file:1"),
        ({"namesrv": "flag:1", "namesrvAddr": "file:1"}, "flag:1"),
        ({"namesrv_listen": "127.0.0.1:0"}, None),
    ],
)
def test_the_environment_counts_least(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], named: str | None
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "ns1:9876")
    found = plan(**options)
    assert found.broker.namesrv_addr == named
    assert (found.embedded is None) == (named is not None)


def test_an_environment_that_does_not_count_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "ns1:9876")
    plan(namesrv_listen="127.0.0.1:0")
    assert "NAMESRV_ADDR is not used" in caplog.text


def test_an_empty_one_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", " ")
    assert plan().embedded is not None


async def route(addr: str, **fields: str) -> Any:
    """What a client of that zone is told of the topic that every broker has."""
    header = GetRouteInfoRequestHeader(topic="TBW102")
    async with Client.connect(addr, extra_fields=fields) as client:
        reply = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    return json.loads(bytes(reply.body).replace(b"{0:", b'{"0":'))["brokerDatas"]


async def test_a_broker_has_its_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETMQ_ZONE", "west")
    async with trimq.serve(tmp_path) as server:
        addr = server.namesrv_addr
        assert len(await route(addr)) == 1
        assert len(await route(addr, __ZONE_MODE="true", __ZONE_NAME="west")) == 1
        assert await route(addr, __ZONE_MODE="true", __ZONE_NAME="east") == []


async def test_host_names_stay_in_routes(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path / "ns") as first:
        port = first.namesrv_addr.rpartition(":")[2]
        names = {"brokerIP1": "localhost", "brokerName": "named"}
        named = f"localhost:{port}"
        async with trimq.serve(tmp_path / "b", namesrv=named, settings=names) as second:
            assert second.broker_addr.startswith("localhost:")
            addresses = [one["brokerAddrs"]["0"] for one in await route(first.namesrv_addr)]
            assert second.broker_addr in addresses


def test_a_name_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"brokerIP1=no\.such\.host\.invalid: must be an IP"):
        plan(brokerIP1="no.such.host.invalid")
