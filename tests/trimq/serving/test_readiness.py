"""What /readyz says of a broker: why clients do not find it, or why it takes no messages."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from trimq.broker.identity import BrokerIdentity
from trimq.process.probes import Verdict
from trimq.serving.readiness import STARTING, STOPPING, Readiness
from trimq.serving.server import open_server
from trimq.settings.options import ServerOptions
from trimq.store.upkeep.cleaning import DiskUse

IDENTITY = BrokerIdentity(
    cluster="c", name="broker-a", broker_id=0, address="192.0.2.7:1", ha_address="192.0.2.7:2"
)
GONE = "ns2:9876 (no connection to ns2:9876: Connection refused)"


def readiness(
    *, full: bool = False, writable: bool = True, missing: tuple[str, ...] = ()
) -> Readiness:
    cleaning = SimpleNamespace(disk_full=full, use=DiskUse(0.93, 0.5))
    store: Any = SimpleNamespace(cleaning=cleaning, writable=writable)
    registration: Any = SimpleNamespace(missing=list(missing), registered_with=lambda: ["ns1:9876"])
    return Readiness(IDENTITY, "ASYNC_MASTER", store, registration)


async def test_from_the_start_to_the_stop() -> None:
    ready = readiness()
    assert (await ready.verdict()).why == [STARTING]
    ready.serves()
    verdict = await ready.verdict()
    assert verdict.text() == "ok: ASYNC_MASTER broker-a with id 0, registered with ns1:9876\n"
    ready.stops()
    assert (await ready.verdict()).why == [STOPPING]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"full": True, "writable": False},
            ["the disk is full, and messages are refused: commit log 0.93, consume queues 0.50"],
        ),
        (
            {"writable": False},
            ["the store takes no messages: it is not open, or a sync of its commit log has failed"],
        ),
        ({"missing": (GONE,)}, [f"not registered with {GONE}"]),
        (
            {"writable": False, "missing": (GONE, "ns3:9876 (it has not answered yet)")},
            [
                "the store takes no messages: it is not open, or a sync of its commit log has failed",
                f"not registered with {GONE}",
                "not registered with ns3:9876 (it has not answered yet)",
            ],
        ),
    ],
)
async def test_what_is_wrong(given: dict[str, Any], why: list[str]) -> None:
    ready = readiness(**given)
    ready.serves()
    verdict: Verdict = await ready.verdict()
    assert (list(verdict.why), verdict.status) == (why, "503 Service Unavailable")


def page(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_a_running_broker(tmp_path: Path) -> None:
    options = ServerOptions(
        store=tmp_path,
        listen="127.0.0.1:0",
        namesrv_listen="127.0.0.1:0",
        metrics="127.0.0.1:0",
    )
    async with open_server(options) as running:
        address = cast(str, running.metrics_addr)
        ready = await trio.to_thread.run_sync(page, address, "/readyz")
        assert ready[0] == 200
        assert ready[1].startswith("ok: ASYNC_MASTER ")
        assert ready[1].endswith(f" with id 0, registered with {running.namesrv_addr}\n")
        health = await trio.to_thread.run_sync(page, address, "/healthz")
        # The loop may have stood still on a machine that has much else to do.
        assert health[0] in {200, 503}
        assert "the event loop" in health[1]
