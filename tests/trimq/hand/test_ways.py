"""Who is cut off, who is refused, and NameServers that are not reached."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.patience import until_in_trio
from tests.requests import topic_header
from tests.trimq.hand.faulty import TOPIC, Faulty, code, faulty
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.names import NAMESRV_SEE_FAQ
from trimq.hand.time import text
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import RemotingConnectError


async def refused(it: Faulty) -> bool:
    try:
        async with Client.connect(it.server.broker_addr):
            return False
    except RemotingConnectError as error:
        return "refused" in str(error)


async def test_connections_are_dropped(tmp_path: Path) -> None:
    async with (
        faulty(tmp_path) as it,
        Client.connect(it.server.broker_addr) as other,
    ):
        await it.beat("one")
        await it.beat("two", other)
        assert await it.ask("drop_connections", client="nobody") == 0
        assert await it.ask("drop_connections", client="two") == 1
        await until_in_trio(lambda: other.closed)
        assert not it.client.closed
        async with Client.connect(it.server.broker_addr) as again:
            assert code(await it.send(client=again)) == "SUCCESS"
            assert await it.ask("drop_connections") >= 2
            await until_in_trio(lambda: again.closed and it.client.closed)
        assert not await refused(it)


async def test_away_until_it_is_called_back(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.send()
        await it.ask("away")
        assert await refused(it)
        await until_in_trio(lambda: it.client.closed)
        assert (await it.ask("state"))["away"] == ["broker"]
        # Once more changes nothing, and nobody waits for what was said before.
        await it.ask("away", during="1h")
        assert await refused(it)
        await it.ask("back")
        assert not (await it.ask("state"))["away"]
        async with Client.connect(it.server.broker_addr) as again:
            assert code(await it.send(client=again)) == "SUCCESS"
        await it.ask("back")


async def test_away_for_a_while(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("away", during="1ms")
        await until_in_trio(lambda: not it.hand.broker.servers[0].is_shut)
        assert not await refused(it)


async def test_away_until_a_time_of_the_server(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        clock = it.hand.clock
        clock.run_at(0)
        now = clock.millis()
        await it.ask("away", until=text(now + 60_000))
        clock.move_to(now + 59_000)
        assert await refused(it)
        clock.move_to(now + 61_000)
        await until_in_trio(lambda: not it.hand.broker.servers[0].is_shut)
        assert not await refused(it)


async def test_who_has_just_come_is_cut_off_too(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        host, port = it.server.broker_addr.split(":")
        # It says nothing yet, so it does not count as a connection.
        async with await trio.open_tcp_stream(host, int(port)) as silent:
            await until_in_trio(lambda: it.hand.broker.servers[0].door.inside > 1)
            await it.ask("away")
            with suppress(trio.BrokenResourceError):
                assert await silent.receive_some() == b""


async def test_clearing_brings_it_back(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("away")
        await it.ask("split")
        await it.ask("full_disk")
        await it.ask("fail", code=2)
        assert await it.ask("state") == {
            "away": ["broker"],
            "split_from": [it.server.namesrv_addr],
            "disk": "full",
            "faults": await it.ask("list"),
        }
        await it.ask("clear")
        nothing: dict[str, Any] = {"away": [], "split_from": [], "disk": None, "faults": []}
        assert await it.ask("state") == nothing
        async with Client.connect(it.server.broker_addr) as again:
            assert code(await it.send(client=again)) == "SUCCESS"
        assert await brokers(it, TOPIC) == 1


async def brokers(it: Faulty, topic: str) -> int:
    """How many the NameServer lists for the topic."""
    async with Client.connect(it.server.namesrv_addr) as client:
        answer = await client.request(
            RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic=topic)
        )
    if code(answer) == "TOPIC_NOT_EXIST":
        return 0
    return len(decode_body(TopicRouteData, answer.body).broker_datas)


async def test_a_broker_that_does_not_reach_its_name_server(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        assert await brokers(it, TOPIC) == 1
        addr = it.server.namesrv_addr
        assert await it.ask("split", namesrv=addr) == [addr]
        while await brokers(it, TOPIC):
            await trio.lowlevel.checkpoint()
        # Its clients still have it, and make what the NameServer does not hear of.
        assert code(await it.send()) == "SUCCESS"
        created = await it.client.request(
            RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header("Meanwhile", 1)
        )
        assert code(created) == "SUCCESS"
        assert await brokers(it, "Meanwhile") == 0
        await it.ask("heal")
        assert await brokers(it, TOPIC) == 1
        assert await brokers(it, "Meanwhile") == 1


async def test_a_name_server_that_fails(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        [shown] = await it.ask("fail_next", routes=1, code="TOPIC_NOT_EXIST")
        assert (shown["side"], shown["requests"]) == ("namesrv", "routes")
        # It is the NameServer's alone.
        await it.ask("fail", requests="all", code="SYSTEM_BUSY", side="broker")
        async with Client.connect(it.server.namesrv_addr) as client:
            for known in (False, True):
                answer = await client.request(
                    RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader(topic=TOPIC)
                )
                assert (code(answer) == "SUCCESS") is known
                if not known:
                    assert answer.remark == (
                        f"No topic route info in name server for the topic: {TOPIC}{NAMESRV_SEE_FAQ}"
                    )


async def test_a_name_server_that_is_away(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        # The broker tries twice a second: the test does not wait for that.
        await it.ask("split")
        await it.ask("away", side="namesrv")
        assert (await it.ask("state"))["away"] == ["namesrv"]
        with pytest.raises(RemotingConnectError, match="refused"):
            await brokers(it, TOPIC)
        assert code(await it.send()) == "SUCCESS"
        await it.ask("clear")
        assert await brokers(it, TOPIC) == 1
