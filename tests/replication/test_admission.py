"""Who has a link to a master: silent ones keep no slave out, and none can make the tables of hosts grow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.lowlevel

from tests.patience import until_in_trio
from tests.replication.links import Running, by_hand, piece, serving
from tests.store.conftest import Bench
from trimq.codec.layouts.ha import SLAVE_REPORT
from trimq.replication.admission import MOST_LINKS, MOST_OF_ADDRESS, SILENT_SECONDS
from trimq.replication.hosts import MOST, Hosts


@asynccontextmanager
async def links(
    running: Running, count: int, of_address: int, report: int | None = None
) -> AsyncIterator[list[trio.SocketStream]]:
    """So many, so many of them from each address; those without a report say nothing."""
    streams: list[trio.SocketStream] = []
    async with trio.open_nursery():
        for number in range(count):
            host = f"127.0.0.{2 + number // of_address}"
            stream = await trio.open_tcp_stream(*running.sock.getsockname(), local_address=host)
            if report is not None:
                await stream.send_all(SLAVE_REPORT.build({"max_offset": report}))
            streams.append(stream)
        try:
            yield streams
        finally:
            for stream in streams:
                await stream.aclose()


@pytest.mark.parametrize("of_address", [1, MOST_OF_ADDRESS])
async def test_silent_links_keep_no_slave_out(
    benches: tuple[Bench, Bench], of_address: int
) -> None:
    bench, _ = benches
    store = bench.open()
    store.put(bench.message(b"m"))
    async with serving(store) as running, links(running, MOST_LINKS, of_address) as silent:
        await until_in_trio(lambda: len(running.slaves) == MOST_LINKS, "all are there")
        async with by_hand(running, 0) as slave:
            assert (await piece(slave))[0] == 0
            assert await silent[0].receive_some() == b""
        await until_in_trio(lambda: len(running.slaves) == MOST_LINKS - 1, "one of them has left")


async def test_silent_links_of_one_address_need_no_more_than_its_places(
    benches: tuple[Bench, Bench],
) -> None:
    bench, _ = benches
    count = 3 * MOST_OF_ADDRESS
    async with serving(bench.open()) as running, links(running, count, count) as streams:
        assert await streams[2 * MOST_OF_ADDRESS - 1].receive_some() == b""
        await until_in_trio(lambda: len(running.slaves) == MOST_OF_ADDRESS, "the others have left")


@pytest.mark.parametrize(
    ("count", "of_address"), [(MOST_LINKS, MOST_OF_ADDRESS), (MOST_OF_ADDRESS, MOST_OF_ADDRESS)]
)
async def test_so_many_slaves_and_no_more(
    benches: tuple[Bench, Bench], count: int, of_address: int
) -> None:
    """In all, and of one address."""
    bench, _ = benches
    async with (
        serving(bench.open()) as running,
        links(running, count, of_address, report=0) as streams,
    ):
        await until_in_trio(
            lambda: sum(link.sent_to == 0 for link in running.slaves) == count, "all have reported"
        )
        host = streams[-1].socket.getsockname()[0]
        late = await trio.open_tcp_stream(*running.sock.getsockname(), local_address=host)
        async with late:
            assert await late.receive_some() == b""
        assert len(running.slaves) == count


async def test_a_link_that_says_nothing_leaves(
    benches: tuple[Bench, Bench], autojump_clock: Any
) -> None:
    bench, _ = benches
    async with serving(bench.open()) as running:
        began = trio.current_time()
        stream = await trio.open_tcp_stream(*running.sock.getsockname())
        async with stream:
            assert await stream.receive_some() == b""
            assert SILENT_SECONDS <= trio.current_time() - began < SILENT_SECONDS + 1


async def test_hosts_that_were_complained_of_are_forgotten(benches: tuple[Bench, Bench]) -> None:
    hosts = Hosts()
    for number in range(3 * MOST):
        hosts.note(f"host {number}", number)
    assert len(hosts) == MOST
    assert hosts.at(f"host {3 * MOST - 1}") == 3 * MOST - 1
    assert hosts.at("host 0") < 0
    assert list(hosts.since(3 * MOST - 2)) == [f"host {3 * MOST - 1}"]
