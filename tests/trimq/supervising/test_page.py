"""Whether several brokers are ready: asked of each on its own page."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

from trimq.process.metrics import SampleCollector, metrics_server
from trimq.process.probes import Verdict
from trimq.settings.endpoints import Endpoint
from trimq.supervising.page import FamilyPage


def child(name: str, address: str | None) -> Any:
    return SimpleNamespace(member=SimpleNamespace(name=name), metrics_address=address, restarts=0)


async def well() -> Verdict:
    return Verdict("ASYNC_MASTER b-0 with id 0")


async def full() -> Verdict:
    return Verdict("", ["the disk is full", "not registered with ns:9876"])


async def pages_of(*verdicts: Any) -> Verdict:
    """What the page of several says; each verdict is of a broker."""
    async with AsyncExitStack() as stack:
        children = []
        for at, ready in enumerate(verdicts):
            server = metrics_server(Endpoint("127.0.0.1", 0), SampleCollector(list), ready=ready)
            address = await stack.enter_async_context(server)
            children.append(child(f"b-{at}", str(address)))
        return await FamilyPage(children).ready()


async def test_all_of_them_are() -> None:
    verdict = await pages_of(well, well)
    assert (verdict.status, verdict.text()) == ("200 OK", "ok: all brokers are ready: b-0, b-1\n")


async def test_one_is_not() -> None:
    verdict = await pages_of(well, full)
    assert list(verdict.why) == ["b-1: the disk is full", "b-1: not registered with ns:9876"]


async def test_one_does_not_answer() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        page = FamilyPage([child("b-0", f"127.0.0.1:{port}"), child("b-1", None)])
        first, second = (await page.ready()).why
    assert first.startswith("b-0: it does not answer: ")
    assert second == "b-1: it does not say where to ask"
