"""Who is asked where another broker is: each NameServer has its share of the time."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import BrokerData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import listen

NAME = "broker-a"


class Names(Processor[None]):
    """A NameServer and the broker in one: it says that the broker is here."""

    codes = (RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_BROKER_HA_STATUS)
    addr = ""

    def handle(self, request: Request[None]) -> Response:
        if request.code == RequestCode.GET_BROKER_HA_STATUS:
            return Response(body=b"here")
        data = BrokerData(cluster="C", broker_name=NAME, broker_addrs={0: self.addr})
        return Response(body=encode_body(ClusterInfo(broker_addr_table={NAME: data})))


class NoFields(Header, kw_only=True):
    pass


async def asked(nursery: trio.Nursery, name_servers: list[str], millis: int) -> bytes:
    others = OtherBrokers(BrokerConfig(forward_timeout=millis), name_servers)
    nursery.start_soon(others.run)
    await trio.testing.wait_all_tasks_blocked()
    reply = await others.ask(NAME, RequestCode.GET_BROKER_HA_STATUS, NoFields())
    assert reply.code == ResponseCode.SUCCESS
    return bytes(reply.body)


async def test_one_that_hangs_hides_nothing(
    nursery: Any, patient_clock: trio.testing.MockClock
) -> None:
    names = Names()
    with listen(Endpoint("127.0.0.1", 0)) as listener, listen(Endpoint("127.0.0.1", 0)) as hung:
        names.addr = f"127.0.0.1:{listener.getsockname()[1]}"
        await nursery.start(Server(Dispatcher([names])).serve, [listener])
        # Connections are accepted by the system, and nobody ever answers.
        silent = f"127.0.0.1:{hung.getsockname()[1]}"
        began = trio.current_time()
        assert await asked(nursery, [silent, names.addr], 1500) == b"here"
        # A third of it: one for each NameServer, and one for the broker.
        assert trio.current_time() - began == pytest.approx(0.5)
        with pytest.raises(RemotingError, match=f"NameServer {silent} did not answer within"):
            await asked(nursery, [silent, silent], 300)
