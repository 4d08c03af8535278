"""The proxy looks at its NameServers by itself, and says what is wrong there."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from tests.proxy.fake_cluster import Asked, FakeLinks, answer
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.proxy.looking import Looking
from trimq.proxy.losses import Losses

ONE, TWO = "127.0.0.1:9876", "127.0.0.1:9877"


class Looks:
    """`clusters`: what the NameServers know."""

    def __init__(self, caplog: pytest.LogCaptureFixture, cluster: str, *addrs: str) -> None:
        caplog.set_level(logging.INFO, "trimq.proxy")
        self.caplog = caplog
        self.links = FakeLinks()
        self.clusters: dict[str, list[str]] = {"DefaultCluster": ["broker-a"]}
        self.links.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = self._answer
        self.addrs = addrs or (ONE,)
        self.looking = Looking(self.links, Losses(self.addrs), self.addrs, cluster)

    def _answer(self, asked: Asked) -> RemotingCommand:
        return answer(body=encode_body(ClusterInfo(cluster_addr_table=self.clusters)))

    async def look(self) -> list[str]:
        self.caplog.clear()
        for addr in self.addrs:
            await self.looking.look(addr)
        return [f"{one.levelname} {one.getMessage()}" for one in self.caplog.records]


async def test_another_cluster(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks(caplog, "Other")
    assert await looks.look() == [
        f"WARNING cluster Other has no brokers at {ONE}; there is DefaultCluster: set rocketMQClusterName"
    ]
    assert await looks.look() == []
    looks.clusters["Other"] = ["broker-b"]
    assert await looks.look() == [f"INFO cluster found: name=Other namesrv={ONE}"]
    looks.clusters = {}
    assert await looks.look() == []


async def test_the_right_cluster(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks(caplog, "DefaultCluster")
    assert await looks.look() == []


async def test_brokers_have_a_moment_to_register(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks(caplog, "DefaultCluster", ONE, TWO)
    looks.clusters = {"DefaultCluster": []}
    assert await looks.look() == []
    assert await looks.look() == [
        f"WARNING cluster DefaultCluster has no brokers at {ONE}, nor has any other"
    ]
    assert await looks.look() == []


async def test_what_is_no_list_of_clusters(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks(caplog, "DefaultCluster")
    looks.links.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _: answer(body=b"[")
    (said,) = await looks.look()
    assert said.startswith(f"INFO clusters not read: namesrv={ONE} reason=")


async def test_it_goes_on_looking(
    caplog: pytest.LogCaptureFixture, nursery: Any, autojump_clock: Any
) -> None:
    looks = Looks(caplog, "DefaultCluster", ONE, TWO)
    looks.links.away.add(TWO)
    nursery.start_soon(looks.looking.keep)
    await trio.sleep(100)
    lost = f"NameServer lost, trying again: namesrv={TWO} reason=no connection to {TWO}"
    assert [one.getMessage() for one in caplog.records] == [lost]
    asked = [one.addr for one in looks.links.asked]
    assert asked.count(TWO) > asked.count(ONE) > 5
    looks.links.away.clear()
    await trio.sleep(5)
    assert [one.getMessage() for one in caplog.records][1:] == [f"NameServer found: namesrv={TWO}"]
    nursery.cancel_scope.cancel()
