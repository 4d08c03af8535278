"""What brokers know of topics and groups: asked once, kept, and asked again beside the calls."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from tests.proxy.fake_cluster import A, B, FakeLinks
from trimq.codec.codes import RequestCode
from trimq.proxy.metadata import Metadata
from trimq.proxy.routes import Routes

TOPIC = RequestCode.GET_TOPIC_CONFIG


def metadata_of(links: FakeLinks, nursery: Any) -> Metadata:
    return Metadata(links, Routes(links, ["n:1"], 20, nursery), "DefaultCluster", 20, nursery)


async def test_many_who_want_the_same_ask_once(nursery: Any) -> None:
    links = FakeLinks()
    links.types["T"] = "FIFO"
    metadata, found = metadata_of(links, nursery), []

    async def want() -> None:
        found.append(await metadata.message_type("T"))

    async with trio.open_nursery() as wanting:
        for _ in range(50):
            wanting.start_soon(want)
    assert found == ["FIFO"] * 50
    assert len(links.of(TOPIC)) == 1


async def test_it_is_renewed_beside_the_calls(nursery: Any, autojump_clock: object) -> None:
    links = FakeLinks()
    metadata = metadata_of(links, nursery)
    assert await metadata.message_type("T") == "NORMAL"
    links.types["T"] = "FIFO"
    await trio.sleep(19)
    assert await metadata.message_type("T") == "NORMAL"
    await trio.sleep(2)
    assert await metadata.message_type("T") == "NORMAL"
    await trio.testing.wait_all_tasks_blocked()
    assert await metadata.message_type("T") == "FIFO"
    assert len(links.of(TOPIC)) == 2


async def test_what_was_not_used_for_long_is_asked_for(
    nursery: Any, autojump_clock: object
) -> None:
    links = FakeLinks()
    metadata = metadata_of(links, nursery)
    await metadata.message_type("T")
    links.types["T"] = "FIFO"
    await trio.sleep(301)
    assert await metadata.message_type("T") == "FIFO"


async def test_old_answers_serve_while_nobody_answers(nursery: Any, autojump_clock: object) -> None:
    links = FakeLinks()
    metadata = metadata_of(links, nursery)
    assert await metadata.group("G") is not None
    links.away |= {A, B}
    await trio.sleep(301)
    assert await metadata.group("G") is not None
    assert await metadata.group("other") is None


async def test_what_is_missing_is_asked_for_again(nursery: Any) -> None:
    links = FakeLinks()
    metadata = metadata_of(links, nursery)
    assert await metadata.group("new") is None
    links.groups["new"] = {}
    assert await metadata.group("new") is not None


async def test_groups_are_renewed_in_a_time_of_their_own(
    nursery: Any, autojump_clock: object
) -> None:
    links = FakeLinks()
    routes = Routes(links, ["n:1"], 1000, nursery)
    metadata = Metadata(links, routes, "DefaultCluster", 1000, nursery, 5)
    await metadata.message_type("T")
    await metadata.group("G")
    await trio.sleep(6)
    await metadata.message_type("T")
    await metadata.group("G")
    await trio.testing.wait_all_tasks_blocked()
    asked = [len(links.of(code)) for code in (TOPIC, RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG)]
    assert asked == [1, 2]
