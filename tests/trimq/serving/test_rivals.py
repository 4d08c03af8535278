"""Two living brokers under one name and id: RocketMQ lets them displace each other, TriMQ says so."""

import logging
from pathlib import Path

import pytest

import trimq
from trimq.broker.cluster.rivals import RivalWatch
from trimq.broker.identity import BrokerIdentity
from trimq.remoting.clients.client import Client

SENTENCE = "two brokers have the same name and id"


def said(caplog: pytest.LogCaptureFixture, logger: str) -> list[str]:
    return [
        one.getMessage()
        for one in caplog.records
        if one.name == logger and one.levelno == logging.ERROR and SENTENCE in one.getMessage()
    ]


async def test_both_brokers_and_the_name_server_say_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = {"brokerName": "b"}
    async with (
        trimq.serve(tmp_path / "a", settings=names) as first,
        trimq.serve(tmp_path / "b", namesrv=first.namesrv_addr, settings=names) as second,
    ):
        assert len(said(caplog, "trimq.namesrv")) == 1
        (line,) = said(caplog, "trimq.broker")
        assert f"address={second.broker_addr} other={first.broker_addr}" in line
        assert "another brokerName" in line
        # What the displaced one does before it registers again.
        watch = RivalWatch(BrokerIdentity("DefaultCluster", "b", 0, first.broker_addr, ""))
        async with Client.connect(first.namesrv_addr) as client:
            await watch.look(client, first.namesrv_addr, 5)
            await watch.look(client, first.namesrv_addr, 5)
        assert (
            f"address={first.broker_addr} other={second.broker_addr}"
            in said(caplog, "trimq.broker")[1]
        )
        assert len(said(caplog, "trimq.broker")) == 2


async def test_a_broker_that_comes_back_elsewhere_is_not_its_own_rival(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = {"brokerName": "b"}
    async with trimq.serve(tmp_path / "ns", settings={"brokerName": "other"}) as home:
        for _ in range(2):
            async with trimq.serve(tmp_path / "a", namesrv=home.namesrv_addr, settings=names):
                pass
    assert said(caplog, "trimq.namesrv") == said(caplog, "trimq.broker") == []
