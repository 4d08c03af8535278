"""A real server, its sockets and services, whose clock is set again and again while clients use it."""

from pathlib import Path
from typing import Any

import pytest
import trio

import trimq
from tests.requests import pull_header
from tests.trimq.clock.jumping import DAY, JUMPS, RealClock
from trimq.admin.client import AdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.codes import RequestCode
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.client import Client

# What a client sends each time, by the body's first word: it is due after a second at most.
KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "delayed": {"DELAY": "1"},
    "timer": {"TIMER_DELAY_MS": "1000"},
}


async def test_a_server_whose_clock_is_set(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = RealClock()
    # Whatever a minute is, NameServer and broker know each other in the end.
    settings = {"messageDelayLevel": "1s 2s", "scanNotActiveBrokerInterval": "100"}
    wanted: set[str] = set()
    with trio.fail_after(60):
        async with (
            trimq.serve(tmp_path, settings=settings, clock=clock) as server,
            AdminClient.connect(server.namesrv_addr) as admin,
            Client.connect(server.broker_addr) as client,
        ):
            for name, jump in (*JUMPS.items(), ("as it was", 0)):
                await send(admin, f"before {name}", wanted)
                clock.jumped = jump
                await send(admin, f"after {name}", wanted)
                # The same connection, which nobody has closed.
                assert (await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)).code == 0
            # What waits for a time that the clock has not come to yet.
            clock.jumped = 401 * DAY
            while set(await bodies(client)) < wanted:  # noqa: ASYNC110
                # As a consumer does that finds nothing new.
                await trio.sleep(0.1)
            await trio.sleep(0.5)
            assert sorted(await bodies(client)) == sorted(wanted)
    assert "failed" not in caplog.text


async def send(admin: AdminClient, when: str, wanted: set[str]) -> None:
    for kind, properties in KINDS.items():
        body = f"{kind} {when}"
        wanted.add(body)
        await admin.send(NewMessage(topic="T", body=body.encode(), properties=properties))


async def bodies(client: Client) -> list[str]:
    """All that consumers would get."""
    found = []
    for queue_id in range(8):
        header = pull_header("G", "T", 0, queue_id=queue_id, most=64)
        answer: Any = await client.request(RequestCode.PULL_MESSAGE, header)
        data, at = bytes(answer.body), 0
        while at < len(data):
            record = parse_record(data, at)
            found.append(record.body.decode())
            at += record.total_size
    return found
