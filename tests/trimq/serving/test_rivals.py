"""Two living brokers under one name and id: RocketMQ lets them displace each other, TriMQ says so."""

import logging
from pathlib import Path

import pytest
import trio
import trio.testing

import trimq
from trimq.broker.cluster.duplicate_brokers import DuplicateBrokers
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.remoting.clients.client import Client

SENTENCE = "two brokers have the same name and id"


def said(caplog: pytest.LogCaptureFixture, logger: str) -> list[str]:
    return [
        one.getMessage()
        for one in caplog.records
        if one.name == logger and one.levelno == logging.ERROR and SENTENCE in one.getMessage()
    ]


async def said_by(caplog: pytest.LogCaptureFixture, address: str) -> list[str]:
    """What the broker there says when it has asked, which nothing waits for."""
    with trio.fail_after(30):
        while not (found := [one for one in said(caplog, "trimq.broker") if address in one]):
            await trio.testing.wait_all_tasks_blocked(0.01)
    return found


@pytest.mark.parametrize("compatible", [True, False])
async def test_both_brokers_and_the_name_server_say_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, compatible: bool
) -> None:
    names = {"brokerName": "b", "compatibleWithOldNameSrv": str(compatible).lower()}
    async with (
        trimq.serve(tmp_path / "a", settings=names) as first,
        trimq.serve(tmp_path / "b", namesrv=first.namesrv_addr, settings=names) as second,
    ):
        assert len(said(caplog, "trimq.namesrv")) == 1
        (line,) = await said_by(caplog, f"address={second.broker_addr} ")
        assert f"other={first.broker_addr}" in line
        assert "another brokerName" in line
        # What the displaced one does before it registers again: it may just have done so itself.
        identity = BrokerIdentity("DefaultCluster", "b", 0, first.broker_addr, "")
        watch = DuplicateBrokers(identity, BrokerConfig(compatible_with_old_name_srv=compatible))
        async with Client.connect(first.namesrv_addr) as client:
            await watch.look(client, "asked by hand")
            await watch.look(client, "asked by hand")
        (line,) = [one for one in said(caplog, "trimq.broker") if "asked by hand" in one]
        assert f"address={first.broker_addr} other={second.broker_addr}" in line


async def test_a_broker_that_comes_back_elsewhere_is_not_its_own_rival(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = {"brokerName": "b"}
    async with trimq.serve(tmp_path / "ns", settings={"brokerName": "other"}) as home:
        for _ in range(2):
            async with trimq.serve(tmp_path / "a", namesrv=home.namesrv_addr, settings=names):
                pass
    assert said(caplog, "trimq.namesrv") == said(caplog, "trimq.broker") == []


async def test_who_goes_by_another_address_is_not_its_own_rival(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A NameServer that was away while it changed still has the former address, where the broker listens."""
    async with trimq.serve(tmp_path, settings={"brokerName": "b"}) as server:
        identity = BrokerIdentity("DefaultCluster", "b", 0, server.broker_addr, "")
        identity.change(host="localhost")
        identity.change(port=1)
        assert identity.address == "localhost:1"
        async with Client.connect(server.namesrv_addr) as client:
            await DuplicateBrokers(identity, BrokerConfig()).look(client, "asked by hand")
    assert said(caplog, "trimq.broker") == []
