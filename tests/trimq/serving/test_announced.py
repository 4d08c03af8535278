"""What container classes of tests do: they learn a mapped port after the start, and then have it announced."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

import trimq
from tests.requests import pull_header, send_header
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.headers.replication import ExchangeHAInfoRequestHeader
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.codec.java.properties import read_properties
from trimq.remoting.clients.client import Client

TOPIC = "TBW102"
FROM_ELSEWHERE = b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911\r\n"


async def updated(broker: Client, *lines: str) -> tuple[int, str | None]:
    """Code and remark of one request."""
    body = "\n".join(lines).encode()
    answer = await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)
    return answer.code, answer.remark


async def shown(broker: Client) -> dict[str, str]:
    answer = await broker.request(RequestCode.GET_BROKER_CONFIG)
    return read_properties(bytes(answer.body).decode())


async def routed(names: Client) -> dict[str, str]:
    """Where clients are sent: names of brokers and addresses of masters."""
    header = GetRouteInfoRequestHeader(topic=TOPIC, accept_standard_json_only=True)
    answer = await names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    assert answer.code == ResponseCode.SUCCESS
    route = decode_body(TopicRouteData, answer.body)
    assert {queues.broker_name for queues in route.queue_datas} == {
        data.broker_name for data in route.broker_datas
    }
    return {data.broker_name or "": data.broker_addrs[0] for data in route.broker_datas}


async def listed(names: Client) -> dict[str, str]:
    """All brokers that the NameServer has."""
    answer = await names.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    table = decode_body(ClusterInfo, answer.body).broker_addr_table
    return {name: data.broker_addrs[0] for name, data in table.items()}


@asynccontextmanager
async def forwarded(address: str) -> AsyncIterator[int]:
    """A port from which connections are forwarded, as a container's mapped one."""
    host, _, port = address.rpartition(":")

    async def pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
        async for data in source:
            await sink.send_all(data)
        await sink.send_eof()

    async def forward(near: trio.SocketStream) -> None:
        far = await trio.open_tcp_stream(host, int(port))
        async with near, far, trio.open_nursery() as nursery:
            nursery.start_soon(pump, near, far)
            nursery.start_soon(pump, far, near)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, forward, 0, host="127.0.0.1"))
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def test_the_commands_of_a_container_class(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path, settings={"brokerName": "inside"}) as server,
        forwarded(server.broker_addr) as port,
        Client.connect(server.namesrv_addr) as names,
        Client.connect(server.broker_addr) as broker,
    ):
        inside = server.broker_addr.rpartition(":")[2]
        assert await routed(names) == {"inside": server.broker_addr}
        code, remark = await updated(broker, "brokerIP1=localhost")
        assert (code, remark) == (0, "brokerIP1: announced until this server stops")
        # The answer comes when the NameServer knows.
        assert await routed(names) == {"inside": f"localhost:{inside}"}
        assert (await updated(broker, f"listenPort={port}"))[0] == 0
        assert await routed(names) == {"inside": f"localhost:{port}"}
        assert (await updated(broker, "brokerName=outside"))[0] == 0
        assert await routed(names) == await listed(names) == {"outside": f"localhost:{port}"}
        assert await updated(broker, "brokerPermission=6") == (0, None)
        assert await listed(names) == {"outside": f"localhost:{port}"}
        found = await shown(broker)
        chosen = [found[key] for key in ("brokerIP1", "listenPort", "brokerName")]
        assert chosen == ["localhost", str(port), "outside"]
        # Slaves go where they went.
        asked = await broker.request(
            RequestCode.EXCHANGE_BROKER_HA_INFO, ExchangeHAInfoRequestHeader()
        )
        assert asked.ext_fields is not None
        assert asked.ext_fields["masterAddress"] == f"localhost:{port}"
        assert asked.ext_fields["masterHaAddress"] == f"127.0.0.1:{int(inside) + 1}"
        await _send_and_pull((await routed(names))["outside"])
        # Queues are named as in the route.
        stats = GetTopicStatsInfoRequestHeader(topic=TOPIC)
        answer = await broker.request(RequestCode.GET_TOPIC_STATS_INFO, stats)
        assert b'"brokerName":"outside"' in bytes(answer.body)
        assert b"inside" not in bytes(answer.body)
    kept = (tmp_path / "config/broker.properties").read_text()
    assert kept == "brokerName=outside\n"
    async with (
        trimq.serve(tmp_path) as server,
        Client.connect(server.namesrv_addr) as names,
    ):
        assert await routed(names) == {"outside": server.broker_addr}


def _pull() -> PullMessageRequestHeader:
    """One message of queue 0, by a group that every broker has."""
    return pull_header("CID_ONS-HTTP-PROXY", TOPIC, 0, most=1)


async def _send_and_pull(address: str) -> None:
    async with Client.connect(address) as client:
        header = send_header(TOPIC, default_topic_queue_nums=1, queue_id=0)
        sent = await client.request(RequestCode.SEND_MESSAGE, header, b"through the forward")
        assert sent.code == ResponseCode.SUCCESS
        pulled = await client.request(RequestCode.PULL_MESSAGE, _pull())
        assert pulled.code == ResponseCode.SUCCESS
        assert b"through the forward" in bytes(pulled.body)


async def test_two_in_one_request(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path, settings={"brokerName": "b"}) as server,
        Client.connect(server.namesrv_addr) as names,
        Client.connect(server.broker_addr) as broker,
    ):
        code, remark = await updated(broker, "brokerIP1=198.51.100.7", "listenPort=32768")
        assert (code, remark) == (0, "brokerIP1, listenPort: announced until this server stops")
        assert await listed(names) == {"b": "198.51.100.7:32768"}
        # And one more, which says nothing new.
        assert await updated(broker, "listenPort=32768") == (0, None)
        # Who is refused is told by whom.
        assert await updated(broker, "brokerPermission=2") == (0, None)
        pulled = await broker.request(RequestCode.PULL_MESSAGE, _pull())
        assert pulled.remark == "the broker[198.51.100.7] pulling message is forbidden"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("brokerIP1=", "must be an IP address or a host name"),
        ("brokerIP1=a b", "must be an IP address or a host name"),
        ("brokerIP1=300.1.1.1", "must be an IP address or a host name"),
        ("brokerIP1=host:10911", "must be an IP address or a host name"),
        ("brokerIP1=0.0.0.0", "must be an address that clients can connect to"),
        ("listenPort=0", "must be a port"),
        ("listenPort=65536", "must be a port"),
        ("listenPort=-1", "must be a port"),
        ("listenPort=http", "must be a port"),
        ("brokerName=", "must be a name"),
        ("brokerName=a b", "must be a name"),
    ],
)
async def test_what_cannot_be_announced_changes_nothing(
    tmp_path: Path, line: str, why: str
) -> None:
    async with (
        trimq.serve(tmp_path, settings={"brokerName": "b"}) as server,
        Client.connect(server.namesrv_addr) as names,
        Client.connect(server.broker_addr) as broker,
    ):
        before = await shown(broker)
        code, remark = await updated(broker, line, "traceOn=false")
        assert code == ResponseCode.SYSTEM_ERROR
        assert remark is not None
        assert remark.startswith(f"{line}: {why}")
        assert await shown(broker) == before
        assert await listed(names) == {"b": server.broker_addr}


async def test_from_elsewhere_it_is_refused(tmp_path: Path) -> None:
    settings = {"proxyProtocolFrom": "127.0.0.1", "brokerName": "b"}
    async with (
        trimq.serve(tmp_path, settings=settings) as server,
        Client.connect(server.namesrv_addr) as names,
    ):
        host, _, port = server.broker_addr.rpartition(":")
        for line, said in (
            ("brokerIP1=198.51.100.7", b"set where the server is started"),
            ("listenPort=32768", b"set where the server is started"),
            ("brokerName=c", b"brokerName: in force from the next start on"),
        ):
            command = RemotingCommand(RequestCode.UPDATE_BROKER_CONFIG, 1, body=line.encode())
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                await stream.send_all(FROM_ELSEWHERE + encode_command(command))
                assert said in await stream.receive_some()
        assert await routed(names) == await listed(names) == {"b": server.broker_addr}
