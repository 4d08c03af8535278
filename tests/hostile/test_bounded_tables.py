"""Tables that any client can grow have bounds, and cost nobody else anything."""

from pathlib import Path
from typing import Any

import pytest
import trio

import trimq
from tests.requests import heartbeat, send_header
from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client as BrokerClient
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import PutKVConfigRequestHeader
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.process.loop_steps import LoopSteps, watched
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import LimitReached
from trimq.remoting.testing import RecordingPeer


def queues(count: int) -> list[MessageQueue]:
    return [MessageQueue(broker_name="b", queue_id=number, topic="T") for number in range(count)]


class Watch(Clock):
    """Set by hand."""

    now = 0

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


def test_locks_of_a_group_and_of_all_have_a_bound() -> None:
    locks = QueueLocks(Watch(), config=BrokerConfig(max_group_locks=10, max_queue_locks=15))
    locks.lock("g", queues(10), "c")
    with pytest.raises(LimitReached, match="maxGroupLocks"):
        locks.lock("g", queues(11), "c")
    with pytest.raises(LimitReached, match="maxQueueLocks"):
        locks.lock("h", queues(6), "c")
    locks.unlock("g", queues(10), "c")
    assert locks.count == 5


async def test_expired_locks_are_forgotten_and_one_request_is_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Watch()
    locks = QueueLocks(clock)
    with caplog.at_level("INFO"):
        locks.lock("g", queues(5000), "c")
    assert len(caplog.records) == 1
    clock.now = 60_001
    await locks.forget_expired()
    assert (locks.count, locks._groups) == (0, {})


def test_a_connection_has_only_so_many_producer_groups() -> None:
    producers = Producers(BrokerConfig(max_connection_groups=3), Watch())
    peer = RecordingPeer()
    client = BrokerClient(peer, "c", 0, 0, 0)
    for number in range(3):
        producers.register(f"g{number}", client)
    with pytest.raises(LimitReached, match="maxConnectionGroups"):
        producers.register("g3", client)
    producers.register("g1", client)
    producers.closed(peer)
    assert (producers.groups(), producers._of_peer) == ({}, {})


def test_a_disconnect_looks_at_its_own_groups_only() -> None:
    """300,000 groups of one client made everybody's disconnect cost 12 ms."""

    class Counted(dict[str, Any]):
        looked = 0

        def items(self) -> Any:
            Counted.looked += 1
            return super().items()

        def values(self) -> Any:
            Counted.looked += 1
            return super().values()

    producers = Producers(BrokerConfig(), Watch())
    producers._groups = Counted()
    for number in range(5):
        peer = RecordingPeer(peer_id=number)
        producers.register("g", BrokerClient(peer, f"c{number}", 0, 0, 0))
        producers.closed(peer)
    assert Counted.looked == 0


async def test_consumers_of_a_connection_have_a_bound(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path, settings={"maxConnectionGroups": "20"}) as server,
        Client.connect(server.broker_addr) as client,
    ):
        answer = await client.request(RequestCode.HEART_BEAT, None, heartbeat(["a", "b"]))
        assert answer.code == ResponseCode.SUCCESS
        body = heartbeat([f"g{number}" for number in range(20)])
        answer = await client.request(RequestCode.HEART_BEAT, None, body, timeout=20)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "maxConnectionGroups" in (answer.remark or "")


async def test_producers_of_a_connection_have_a_bound(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        for first in (0, 600):
            body = heartbeat([], producers=[f"p{number}" for number in range(first, first + 600)])
            answer = await client.request(RequestCode.HEART_BEAT, None, body, timeout=20)
        assert "maxConnectionGroups" in (answer.remark or "")


async def test_a_topic_of_two_billion_queues_is_refused(tmp_path: Path) -> None:
    body = encode_body(TopicConfig(topic_name="T", read_queue_nums=2**31 - 1, write_queue_nums=1))
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        answer = await client.request(
            RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, None, b'{"topicConfigList":[' + body + b"]}"
        )
        assert "maxTopicQueues" in (answer.remark or "")


async def test_statistics_of_many_queues_come_in_steps(tmp_path: Path) -> None:
    topic = TopicConfig(topic_name="Wide", read_queue_nums=8192, write_queue_nums=8192)
    body = b'{"topicConfigList":[' + encode_body(topic) + b"]}"
    async with trimq.serve(tmp_path) as server, Client.connect(server.broker_addr) as client:
        code = RequestCode.UPDATE_AND_CREATE_TOPIC_LIST
        answer = await client.request(code, None, body, timeout=20)
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        steps = LoopSteps()
        with watched(steps):
            header = GetTopicStatsInfoRequestHeader(topic="Wide")
            answer = await client.request(RequestCode.GET_TOPIC_STATS_INFO, header, timeout=60)
        assert answer.code == ResponseCode.SUCCESS
        assert steps.steps >= 8192 // 256


async def test_offsets_of_queues_that_do_not_exist_have_a_bound(tmp_path: Path) -> None:
    settings = {"maxForeignOffsets": "10"}
    async with (
        trimq.serve(tmp_path, settings=settings) as server,
        Client.connect(server.broker_addr) as client,
    ):
        await client.request(RequestCode.SEND_MESSAGE, send_header("T"), b"x")
        await client.request(RequestCode.HEART_BEAT, None, heartbeat(["g"]))

        async def commit(queue_id: int) -> str | None:
            header = UpdateConsumerOffsetRequestHeader(
                consumer_group="g", topic="T", queue_id=queue_id, commit_offset=1
            )
            return (await client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)).remark

        refused = [number for number in range(100, 120) if await commit(number)]
        # The topic has 4 queues of its own, whose offsets have room in any case.
        assert refused == list(range(114, 120))
        assert await commit(100) is None
        assert await commit(3) is None


async def test_key_values_of_a_name_server_have_a_bound(tmp_path: Path) -> None:
    settings = {"namesrvMaxKvBytes": "1000"}
    async with (
        trimq.serve(tmp_path, settings=settings) as server,
        Client.connect(server.namesrv_addr) as client,
    ):

        async def put(key: str, size: int) -> str | None:
            header = PutKVConfigRequestHeader(namespace="n", key=key, value="v" * size)
            return (await client.request(RequestCode.PUT_KV_CONFIG, header)).remark

        assert await put("a", 900) is None
        assert "namesrvMaxKvBytes" in (await put("b", 200) or "")
        assert await put("a", 10) is None
        assert await put("b", 200) is None
        await trio.lowlevel.checkpoint()
