"""A cluster without sockets: what is asked is written down, and answered by what a test says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import trio

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Message
from trimq.proxy.links import Links
from trimq.remoting.errors import RemotingConnectError
from trimq.remoting.peer import Body

NAMESRV = "127.0.0.1:9876"
CLUSTER = "DefaultCluster"
A, B = "127.0.0.1:1001", "127.0.0.1:1002"


@dataclass
class Asked:
    addr: str
    code: int
    fields: dict[str, str]
    body: Body
    oneway: bool


Answer = Callable[[Asked], RemotingCommand]


def answer(
    code: int = ResponseCode.SUCCESS,
    remark: str | None = None,
    header: Header | None = None,
    body: bytes = b"",
) -> RemotingCommand:
    fields = {} if header is None else encode_header(header)
    return RemotingCommand(code, 1, 1, remark=remark, ext_fields=fields, body=body)


@dataclass
class FakeStream:
    """A client's stream: what went down it. `stuck`: the client does not read."""

    sent: list[Any] = field(default_factory=list)
    stuck: bool = False

    async def send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        if self.stuck:
            await trio.sleep_forever()
        self.sent.append(message)


class FakeLinks(Links):
    """One NameServer, brokers a and b with masters; `away`: addresses without anybody."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.away: set[str] = set()
        self.silent: set[str] = set()
        self.types: dict[str, str] = {}
        self.groups: dict[str, dict[str, str]] = {"G": {}}
        self.brokers: dict[str, dict[int, str]] = {"a": {0: A}, "b": {0: B}}
        self.topics: set[str] = {"T", CLUSTER, "a", "b"}
        self.queues = 4
        self.answers: dict[int, Answer] = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.GET_TOPIC_CONFIG: self._topic,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: self._group,
        }

    def of(self, code: int) -> list[Asked]:
        return [one for one in self.asked if one.code == code]

    def is_away(self, addr: str) -> bool:
        return False

    async def ask(
        self,
        addr: str,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3.0,  # noqa: ASYNC109 - as the real one
        late: Callable[[RemotingCommand], None] | None = None,
    ) -> RemotingCommand:
        asked = await self._ask(addr, code, header, body, False)
        return self.answers[code](asked)

    async def oneway(
        self, addr: str, code: int, header: Header | None = None, body: Body = b""
    ) -> None:
        await self._ask(addr, code, header, body, True)

    async def _ask(
        self, addr: str, code: int, header: Header | None, body: Body, oneway: bool
    ) -> Asked:
        await trio.lowlevel.checkpoint()
        fields = {} if header is None else encode_header(header)
        asked = Asked(addr, int(code), fields, body, oneway)
        self.asked.append(asked)
        if addr in self.away:
            raise RemotingConnectError(f"no connection to {addr}")
        return asked

    def _route(self, asked: Asked) -> RemotingCommand:
        topic = asked.fields["topic"]
        if topic not in self.topics:
            return answer(ResponseCode.TOPIC_NOT_EXIST, f"no route of {topic}")
        data = TopicRouteData(
            broker_datas=[
                BrokerData(broker_name=name, cluster=CLUSTER, broker_addrs=addrs)
                for name, addrs in self.brokers.items()
            ],
            queue_datas=[
                QueueData(
                    broker_name=name,
                    perm=6,
                    read_queue_nums=self.queues,
                    write_queue_nums=self.queues,
                )
                for name in self.brokers
            ],
        )
        return answer(body=encode_body(data))

    def _topic(self, asked: Asked) -> RemotingCommand:
        kind = self.types.get(asked.fields["topic"], "NORMAL")
        return answer(body=encode_body(TopicConfig(attributes={"message.type": kind})))

    def _group(self, asked: Asked) -> RemotingCommand:
        attributes = self.groups.get(asked.fields["group"])
        if attributes is None:
            return answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "no such group")
        config = SubscriptionGroupConfig(group_name=asked.fields["group"], attributes=attributes)
        return answer(body=encode_body(config))


def caller(client_id: str = "c1", **fields: str) -> Caller:
    named = {"x-mq-client-id": client_id, "x-mq-language": "JAVA", **fields}
    return Caller(named, float("inf"), "10.0.0.1:50000", "127.0.0.1:8081", "127.0.0.1:8081")
