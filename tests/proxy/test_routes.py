"""Routes: what is asked when, and what stands in while nobody answers."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from tests.proxy.fake_cluster import A, B, FakeLinks, answer
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.codes import RequestCode
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.routes import Route, Routes
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import TransportError

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC


def routes_of(links: FakeLinks, nursery: Any, *name_servers: str) -> Routes:
    return Routes(links, name_servers or ["n:1"], 20, nursery)


async def test_it_is_kept_and_renewed_beside_the_calls(
    nursery: Any, autojump_clock: object
) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    first = await routes.of("T")
    await trio.sleep(19)
    assert await routes.of("T") is first
    assert len(links.of(ROUTE)) == 1
    await trio.sleep(2)
    links.queues = 8
    # Who asks first has the old one at once.
    assert await routes.of("T") is first
    await trio.testing.wait_all_tasks_blocked()
    assert len((await routes.of("T")).writable) == 16
    assert len(links.of(ROUTE)) == 2


async def test_one_that_was_not_used_for_long_is_asked_for(
    nursery: Any, autojump_clock: object
) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    await routes.of("T")
    links.queues = 8
    await trio.sleep(301)
    assert len((await routes.of("T")).writable) == 16


async def test_the_turn_goes_on(nursery: Any, autojump_clock: object) -> None:
    routes = routes_of(FakeLinks(), nursery)
    seen = []
    for _ in range(8):
        seen.append((await routes.of("T")).next_writable())
        await trio.sleep(21)
    assert len(set(seen)) == 8


async def test_many_who_want_the_same_ask_once(nursery: Any) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    found: list[Route] = []

    async def want() -> None:
        found.append(await routes.of("T"))

    async with trio.open_nursery() as wanting:
        for _ in range(50):
            wanting.start_soon(want)
    assert len(links.of(ROUTE)) == 1
    assert len({id(route) for route in found}) == 1


async def test_several_name_servers(nursery: Any) -> None:
    links = FakeLinks()
    links.away |= {"n:1", "n:2"}
    routes = routes_of(links, nursery, "n:1", "n:2", "n:3")
    await routes.of("T")
    # The one that answered is asked first from now on.
    await routes.of("a")
    assert [one.addr for one in links.of(ROUTE)] == ["n:1", "n:2", "n:3", "n:3"]


async def test_no_name_server(nursery: Any, autojump_clock: object) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    known = await routes.of("T")
    links.away.add("n:1")
    with pytest.raises(TransportError):
        await routes.of("a")
    for seconds in (21, 301):
        await trio.sleep(seconds)
        assert await routes.of("T") is known


async def test_missing_topics_are_not_remembered(nursery: Any) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    with pytest.raises(ProxyError) as raised:
        await routes.of("new")
    assert raised.value.code == Code.TOPIC_NOT_FOUND
    links.topics.add("new")
    assert (await routes.of("new")).writable


async def test_a_topic_that_is_gone(nursery: Any, autojump_clock: object) -> None:
    links = FakeLinks()
    routes = routes_of(links, nursery)
    await routes.of("T")
    links.topics.remove("T")
    await trio.sleep(21)
    await routes.of("T")
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(ProxyError):
        await routes.of("T")


async def test_a_master_is_away(nursery: Any) -> None:
    links = FakeLinks()
    links.brokers["a"] = {2: "127.0.0.1:2002", 1: "127.0.0.1:2001"}
    routes = routes_of(links, nursery)
    route = await routes.of("T")
    # Its slave is read, and nothing is written there.
    assert route.readable_at("a") == "127.0.0.1:2001"
    reader = route.reader("a")
    assert reader is not None
    assert (reader.addr, reader.queue_id) == ("127.0.0.1:2001", -1)
    assert {queue.addr for queue in route.writable} == {B}
    with pytest.raises(ProxyError, match="cannot find broker a"):
        await routes.master_of("a")
    assert await routes.master_of("b") == B


async def test_those_that_are_away_have_no_turn(nursery: Any) -> None:
    route = await routes_of(FakeLinks(), nursery).of("T")
    chosen = [route.next_writable({A}.__contains__) for _ in range(8)]
    assert {queue.addr for queue in chosen if queue} == {B}
    assert len(set(chosen)) == 4
    # Without any other one they are as good.
    assert route.next_writable(lambda _: True) is not None


def test_an_ordered_topic_says_itself_which_queues_it_has() -> None:
    data = TopicRouteData(
        order_topic_conf="a:2;gone:1;b:1",
        broker_datas=[
            BrokerData(broker_name=name, broker_addrs={0: addr})
            for name, addr in (("a", A), ("b", B))
        ],
        queue_datas=[QueueData(broker_name="a", perm=6, read_queue_nums=8, write_queue_nums=8)],
    )
    route = Route("T", data, 0)
    assert [(one.broker_name, one.queue_id) for one in route.writable] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]
    assert len(route.readable) == 8


def test_a_topic_without_permission() -> None:
    data = TopicRouteData(
        broker_datas=[BrokerData(broker_name="a", broker_addrs={0: A})],
        queue_datas=[QueueData(broker_name="a", perm=4, read_queue_nums=1, write_queue_nums=1)],
    )
    route = Route("T", data, 0)
    assert route.next_writable() is None
    assert route.reader("a") is not None


async def test_what_a_broker_is_asked_another_one_answers(nursery: Any) -> None:
    links = FakeLinks()
    metadata = Metadata(links, routes_of(links, nursery), "DefaultCluster", 20)
    links.away.add(A)
    for number in range(8):
        links.groups[f"G{number}"] = {}
        assert await metadata.group(f"G{number}") is not None
    links.away.add(B)
    assert await metadata.group("G0") is not None
    assert await metadata.group("G") is None


async def test_a_route_of_nothing_is_none(nursery: Any) -> None:
    links = FakeLinks()
    links.answers[ROUTE] = lambda _: answer(body=encode_body(TopicRouteData()))
    with pytest.raises(ProxyError) as raised:
        await routes_of(links, nursery).of("T")
    assert raised.value.code == Code.TOPIC_NOT_FOUND
