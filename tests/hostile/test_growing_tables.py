"""Peers that make the broker's tables grow: what it costs is counted in writes and steps."""

import json
from collections import Counter
from pathlib import Path

import pytest
import trio

import trimq
from tests.requests import heartbeat, send_header
from trimq.broker.tables import writer as table_writer
from trimq.broker.tables.file import TableFile
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.process.loop_steps import LoopSteps, watched
from trimq.remoting.clients.client import Client

GROUPS = 900


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each table was written."""
    counted: Counter[str] = Counter()
    write = TableFile._write

    def counting(self: TableFile, pieces: list[bytes]) -> None:
        counted[self.path.name] += 1
        write(self, pieces)

    monkeypatch.setattr(TableFile, "_write", counting)
    return counted


async def test_a_heartbeat_of_many_new_groups_writes_tables_once(
    tmp_path: Path, writes: Counter[str]
) -> None:
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        writes.clear()
        steps = LoopSteps()
        with watched(steps):
            body = heartbeat([f"hostile-{number}" for number in range(GROUPS)])
            answer = await client.request(RequestCode.HEART_BEAT, None, body, timeout=30)
        assert answer.code == ResponseCode.SUCCESS
        # Now and then while it is heard in steps, of which a busy machine needs several times more (37 writes with six
        # processes on two cores), and once with everything; not with each group.
        assert writes["subscriptionGroup.json"] <= GROUPS // 6
        assert writes["topics.json"] <= GROUPS // 6
        assert steps.steps >= GROUPS // 50
        table = _stored(tmp_path, "subscriptionGroup.json")["subscriptionGroupTable"]
        assert f"hostile-{GROUPS - 1}" in table


async def test_what_is_answered_is_in_the_file_also_when_that_takes_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large table is written beside the loop; the reply waits for it."""
    monkeypatch.setattr(table_writer, "_is_quick", lambda file: False)

    async def create(address: str, name: str) -> None:
        async with Client.connect(address) as client:
            for number in range(10):
                header = send_header(f"{name}{number}")
                answer = await client.request(RequestCode.SEND_MESSAGE, header, b"x", timeout=30)
                assert answer.code == ResponseCode.SUCCESS
                table = _stored(tmp_path, "topics.json")["topicConfigTable"]
                assert f"{name}{number}" in table

    async with trimq.serve(tmp_path) as server, trio.open_nursery() as nursery:
        for name in "ABCDEFGH":
            nursery.start_soon(create, server.broker_addr, name)


async def test_sends_to_ever_new_topics_do_not_rewrite_the_table_each_time(
    tmp_path: Path, writes: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        writes.clear()
        async with trio.open_nursery() as nursery:
            for number in range(200):
                header = send_header(f"New{number}")
                nursery.start_soon(client.request, RequestCode.SEND_MESSAGE, header, b"x", 30)
        assert "New199" in _stored(tmp_path, "topics.json")["topicConfigTable"]
        assert writes["topics.json"] < 100


async def test_too_many_groups_in_one_heartbeat_are_refused(tmp_path: Path) -> None:
    settings = {"maxHeartbeatGroups": "10"}
    async with (
        trimq.serve(tmp_path, settings=settings) as server,
        Client.connect(server.broker_addr) as client,
    ):
        body = heartbeat([f"g{number}" for number in range(11)])
        answer = await client.request(RequestCode.HEART_BEAT, None, body)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "maxHeartbeatGroups" in (answer.remark or "")


@pytest.mark.parametrize("key", ["maxTopics", "maxGroups"])
async def test_tables_have_an_end(tmp_path: Path, key: str) -> None:
    async with (
        trimq.serve(tmp_path, settings={key: "50"}) as server,
        Client.connect(server.broker_addr) as client,
    ):
        answers = []
        for number in range(60):
            if key == "maxTopics":
                header = send_header(f"T{number}")
                answers.append(
                    await client.request(RequestCode.SEND_MESSAGE, header, b"x", timeout=30)
                )
            else:
                body = heartbeat([f"g{number}"])
                answers.append(await client.request(RequestCode.HEART_BEAT, None, body, timeout=30))
        assert answers[0].code == ResponseCode.SUCCESS
        assert answers[-1].code == ResponseCode.SYSTEM_ERROR
        assert key in (answers[-1].remark or "")


def _stored(root: Path, name: str) -> dict[str, dict[str, object]]:
    table: dict[str, dict[str, object]] = json.loads((root / "config" / name).read_bytes())
    return table
