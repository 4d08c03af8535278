"""Two brokers of our own and a static topic whose queues move between them."""

from pathlib import Path

import pytest

from trimq import serve
from trimq.admin.client import AdminClient
from trimq.admin.errors import Refused
from trimq.admin.messages.sending import NewMessage
from trimq.admin.topics.remapping import remap
from trimq.admin.topics.static_topics import Configs, extend
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.offsets import GetMinOffsetRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader

SUBSCRIPTION = 4


class Cluster:
    """What the test does with topic S, by its global numbers."""

    def __init__(self, admin: AdminClient, brokers: dict[str, str]) -> None:
        self.admin = admin
        self.brokers = brokers

    async def make(self, total: int, *names: str) -> None:
        configs: Configs = await self.admin.topic_configs("S")
        extend("S", configs, names, total, self.admin.now())
        await self.admin.complete_static_topic("S", configs)
        await self.admin.put_static_topics(configs)

    async def move(self, *names: str) -> None:
        configs = await self.admin.topic_configs("S")
        moves = remap("S", configs, names, self.admin.now())
        await self.admin.complete_static_topic("S", configs)
        await self.admin.move_static_queues("S", configs, moves)

    async def leaders(self) -> dict[int, str]:
        route = await self.admin.topic_route("S")
        mappings = route.topic_queue_mapping_by_broker or {}
        return {number: name for name, one in mappings.items() for number in one.curr_id_map}

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand:
        return await self.admin.ask(self.brokers[name], RequestCode(code), header)

    async def pull(self, name: str, offset: int) -> RemotingCommand:
        header = PullMessageRequestHeader(
            consumer_group="g",
            topic="S",
            queue_id=0,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=SUBSCRIPTION,
            subscription="*",
        )
        return await self.ask(name, RequestCode.PULL_MESSAGE, header)


async def test_queues_move_and_nothing_is_lost(tmp_path: Path) -> None:
    async with (
        serve(tmp_path / "a", settings={"brokerName": "a"}) as first,
        serve(tmp_path / "b", namesrv=first.namesrv_addr, settings={"brokerName": "b"}) as second,
        AdminClient.connect(first.namesrv_addr) as admin,
    ):
        cluster = Cluster(admin, {"a": first.broker_addr, "b": second.broker_addr})
        await cluster.make(2, "a", "b")
        assert await cluster.leaders() == {0: "a", 1: "b"}
        for body in (b"1", b"2", b"3"):
            await admin.send(NewMessage(topic="S", body=body), "a", 0)
        await cluster.move("b")
        assert await cluster.leaders() == {0: "b", 1: "b"}
        with pytest.raises(Refused, match="S-0 does not exit"):
            await admin.send(NewMessage(topic="S", body=b"lost"), "a", 0)
        sent = await admin.send(NewMessage(topic="S", body=b"4"), "b", 0)
        assert sent.queue_offset == 10_000
        assert (await cluster.pull("a", 0)).code == ResponseCode.NOT_LEADER_FOR_QUEUE
        offsets: list[str] = []
        at = 0
        while at < 10_001:
            reply = await cluster.pull("b", at)
            at = int(reply.ext_fields["nextBeginOffset"])
            offsets.append(f"{reply.code} {at} {reply.ext_fields['offsetDelta']}")
        assert offsets == ["0 3 0", "20 10000 10000", "0 10001 10000"]
        stats = (await admin.topic_stats("S")).offsets
        shown = {(queue.broker_name, queue.queue_id): one for queue, one in stats.items()}
        both = shown["__syslo__global__", 0]
        assert (both.min_offset, both.max_offset) == (0, 10_001)
        await cluster.move("a", "b")
        assert sorted((await cluster.leaders()).values()) == ["a", "b"]


async def test_a_broker_that_is_gone(tmp_path: Path) -> None:
    async with (
        serve(tmp_path / "a", settings={"brokerName": "a"}) as first,
        AdminClient.connect(first.namesrv_addr) as admin,
    ):
        cluster = Cluster(admin, {"a": first.broker_addr})
        header = GetMinOffsetRequestHeader(topic="S", queue_id=0)
        async with serve(
            tmp_path / "b", namesrv=first.namesrv_addr, settings={"brokerName": "b"}
        ) as second:
            cluster.brokers["b"] = second.broker_addr
            await cluster.make(1, "b")
            await cluster.move("a")
            reply = await cluster.ask("a", RequestCode.GET_MIN_OFFSET, header)
            assert (reply.code, reply.ext_fields["offset"]) == (0, "0")
        reply = await cluster.ask("a", RequestCode.GET_MIN_OFFSET, header)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "cannot find addr for broker b" in (reply.remark or "")
        # Its messages are gone with it; what is written here is still read.
        await admin.send(NewMessage(topic="S", body=b"new"), "a", 0)
        assert (await cluster.pull("a", 10_000)).code == 0
        async with serve(tmp_path / "b", namesrv=first.namesrv_addr, settings={"brokerName": "b"}):
            reply = await cluster.ask("a", RequestCode.GET_MIN_OFFSET, header)
            assert (reply.code, reply.ext_fields["offset"]) == (0, "0")
