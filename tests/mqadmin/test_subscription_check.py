"""subscriptionCheck against a broker of our own, with members made by hand."""

import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests.run.mqadmin import run_mqadmin
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.client import AdminClient
from trimq.admin.errors import NotFound
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo, ProcessQueueInfo
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.clients import GetConsumerRunningInfoRequestHeader
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Processor, Request, Response
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            config = TopicConfig(topic_name="T", read_queue_nums=4, write_queue_nums=4)
            admin.put_topic(started.broker_addr, config)
        yield started


class RunningInfo(Processor[GetConsumerRunningInfoRequestHeader]):
    """A member that says which queues of T it has."""

    codes = (RequestCode.GET_CONSUMER_RUNNING_INFO,)
    header = GetConsumerRunningInfoRequestHeader

    def __init__(self, queue_ids: tuple[int, ...]) -> None:
        queues = [MessageQueue(broker_name="broker-a", queue_id=i, topic="T") for i in queue_ids]
        keys = [json.dumps(_queue(one)) for one in queues]
        info = ConsumerRunningInfo(mq_table={key: ProcessQueueInfo() for key in keys})
        self._body = encode_body(info)

    def handle(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Response:
        return Response(body=self._body)


def _queue(queue: MessageQueue) -> dict[str, Any]:
    return {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}


class Member:
    """A connection that sends heartbeats."""

    def __init__(self, client: Client, name: str, group: str) -> None:
        self._client = client
        self._name = name
        self._group = group

    async def beat(self, version: int = 1, **topics: str) -> RemotingCommand:
        wanted = [
            SubscriptionData(topic=topic, sub_string=text, sub_version=version)
            for topic, text in topics.items()
        ]
        data = ConsumerData(
            group_name=self._group,
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
            subscription_data_set=wanted,
        )
        body = encode_body(HeartbeatData(client_id=self._name, consumer_data_set=[data]))
        return await self._client.request(RequestCode.HEART_BEAT, None, body)


@asynccontextmanager
async def member(
    server: TestServer, name: str, group: str, *queue_ids: int
) -> AsyncIterator[Member]:
    processors = [RunningInfo(queue_ids)] if queue_ids else []
    async with Client.connect(server.broker_addr, processors=processors) as client:
        yield Member(client, name, group)


async def run(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    return await trio.to_thread.run_sync(
        lambda: run_mqadmin("subscriptionCheck", *words, NAMESRV_ADDR=server.namesrv_addr)
    )


async def test_members_that_agree(server: TestServer) -> None:
    async with member(server, "x", "Same") as x, member(server, "y", "Same") as y:
        await x.beat(T="a || b")
        await y.beat(T="b || a")
        done = await run(server, "-g", "Same")
        assert (done.returncode, done.stderr) == (0, "")
        _, row = done.stdout.splitlines()
        assert row.split() == ["Same", server.broker_addr, "2", "yes", "-"]


async def test_two_tags(server: TestServer) -> None:
    before = int(time.time() * 1000)
    async with member(server, "x", "Tags", 0, 1) as x, member(server, "y", "Tags", 2, 3) as y:
        await x.beat(T="a")
        await y.beat(T="b", version=2)
        done = await run(server, "-g", "Tags", "--json")
        text = await run(server, "-g", "Tags")
    assert (done.returncode, done.stderr) == (1, "")
    (found,) = map(json.loads, done.stdout.splitlines())
    assert (found["agrees"], found["unasked"]) == (False, {})
    (dispute,) = found["disputes"]
    assert (dispute["about"], dispute["topic"], dispute["inForce"]) == ("topic", "T", "b")
    assert before <= dispute["since"] <= time.time() * 1000
    assert dispute["opinions"] == [
        {"expression": "a", "type": "TAG", "members": ["x"], "inForce": False},
        {"expression": "b", "type": "TAG", "members": ["y"], "inForce": True},
    ]
    lost = [
        (one["members"], [queue["queueId"] for queue in one["queues"]], one["tags"])
        for one in dispute["losses"]
    ]
    assert lost == [(["x"], [0, 1], ["a", "b"]), (["y"], [2, 3], ["a"])]
    (overwrite,) = found["overwrites"]
    assert (overwrite["by"], overwrite["of"], overwrite["count"]) == ("y", "x", 1)
    assert text.returncode == 1
    assert "y replaced a of x by b, topic T" in text.stdout
    assert "  Lost: messages with tags a, b in queues 0, 1 of broker-a of x" in text.stdout


async def test_a_topic_that_one_member_does_not_want(server: TestServer) -> None:
    async with member(server, "x", "Half", 0, 1) as x, member(server, "y", "Half", 9) as y:
        await y.beat()
        await x.beat(T="*")
        async with AdminClient.connect(server.namesrv_addr) as admin:
            found = await admin.group_agreement(server.broker_addr, "Half")
    (dispute,) = found.disputes
    opinions = {tuple(one.members): one.expression for one in dispute.opinions}
    assert opinions == {("x",): "*", ("y",): None}
    (loss,) = dispute.losses
    assert [queue.queue_id for queue in loss.queues or ()] == [2, 3]


async def test_a_member_that_does_not_answer_is_named(server: TestServer) -> None:
    async with member(server, "x", "Mute", 0) as x, member(server, "y", "Mute") as y:
        await x.beat(T="a")
        await y.beat(T="b", version=2)
        done = await run(server, "-g", "Mute")
    assert done.returncode == 1
    assert "member 'y' of group 'Mute' cannot be asked" in done.stderr
    assert "Traceback" not in done.stderr
    assert "in the queues of y are skipped" in done.stdout


async def test_all_groups(server: TestServer) -> None:
    async with member(server, "x", "One") as x, member(server, "y", "Two") as y:
        await x.beat(T="a")
        await y.beat(T="b")
        done = await run(server, "--json")
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        shown = {row["group"]: (row["agrees"], row["disputes"]) for row in rows}
        assert shown["One"] == shown["Two"] == (True, [])


async def test_nobody_there(server: TestServer) -> None:
    async with member(server, "x", "Left") as x:
        await x.beat(T="a")
    done = await run(server, "-g", "Left")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mqadmin: no consumer of group 'Left' is connected\n"
    done = await run(server, "-g", "Never")
    assert done.returncode == 1
    assert "%RETRY%Never" in done.stderr
    async with AdminClient.connect(server.namesrv_addr) as admin:
        with pytest.raises(NotFound):
            await admin.group_agreement(server.broker_addr, "Left")


async def test_wrong_usage(server: TestServer) -> None:
    done = await run(server, "--colour")
    assert done.returncode == 2


async def test_a_strict_broker_keeps_the_group_as_it_is(server: TestServer) -> None:
    async with AdminClient.connect(server.namesrv_addr) as admin:
        setting = "refuseInconsistentSubscription"
        await admin.update_broker_config(server.broker_addr, {setting: "true"})
        try:
            async with member(server, "x", "Strict") as x, member(server, "y", "Strict") as y:
                await x.beat(T="a")
                refused = await y.beat(T="b", version=2)
                assert refused.code == 1
                assert "topic T (y: 'b' (TAG), x: 'a' (TAG))" in (refused.remark or "")
                found = await admin.group_agreement(server.broker_addr, "Strict")
                assert [one.client_id for one in found.members] == ["x"]
                assert (await x.beat(T="a", version=3)).code == 0
                assert (await y.beat(T="a", version=4)).code == 0
        finally:
            await admin.update_broker_config(server.broker_addr, {setting: "false"})
