"""One broker behind one NameServer, without sockets: what it is asked is written down, what it answers a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import trio

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.headers.pop import ChangeInvisibleTimeResponseHeader
from trimq.codec.records.addresses import pack_host
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import encode_record
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Message
from trimq.proxy.links import Links
from trimq.remoting.peer import Body

BROKER = "broker-a"
ADDR = "127.0.0.1:10911"
NAMESRV = "127.0.0.1:9876"
HOST = pack_host("127.0.0.1:5000")


@dataclass(frozen=True)
class Asked:
    addr: str
    code: int
    fields: dict[str, str]
    body: bytes
    timeout: float


Answer = Callable[[Asked], RemotingCommand | Awaitable[RemotingCommand]]


def answer(
    code: int = ResponseCode.SUCCESS,
    header: Header | None = None,
    body: bytes = b"",
    remark: str | None = None,
) -> RemotingCommand:
    fields = {} if header is None else encode_header(header)
    return RemotingCommand(code, 1, 1, remark=remark, ext_fields=fields, body=body)


class FakeBroker(Links):
    """`answers` by request code; a test that lets it wait returns something to be awaited."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.asked: list[Asked] = []
        self.perm = 6
        self.groups: dict[str, SubscriptionGroupConfig] = {"G": SubscriptionGroupConfig()}
        self.addrs = {0: ADDR}
        self.answers: dict[int, Answer] = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: self._group,
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME: self._changed,
            RequestCode.ACK_MESSAGE: lambda _: answer(),
            RequestCode.BATCH_ACK_MESSAGE: lambda _: answer(),
            RequestCode.CONSUMER_SEND_MSG_BACK: lambda _: answer(),
            RequestCode.LITE_SUBSCRIPTION_CTL: lambda _: answer(),
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
        fields = {} if header is None else encode_header(header)
        asked = Asked(addr, int(code), fields, bytes(body), timeout)
        self.asked.append(asked)
        await trio.lowlevel.checkpoint()
        found = self.answers[int(code)](asked)
        if isinstance(found, RemotingCommand):
            return found
        try:
            return await found
        except trio.Cancelled:
            self.late = late
            raise

    def _route(self, asked: Asked) -> RemotingCommand:
        if asked.fields["topic"] not in {"T", "Parent", BROKER, "DefaultCluster"}:
            return answer(ResponseCode.TOPIC_NOT_EXIST)
        data = TopicRouteData(
            broker_datas=[
                BrokerData(broker_name=BROKER, cluster="DefaultCluster", broker_addrs=self.addrs)
            ],
            queue_datas=[
                QueueData(broker_name=BROKER, perm=self.perm, read_queue_nums=4, write_queue_nums=4)
            ],
        )
        return answer(body=encode_body(data))

    def _group(self, asked: Asked) -> RemotingCommand:
        config = self.groups.get(asked.fields["group"])
        if config is None:
            return answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        return answer(body=encode_body(config))

    def _changed(self, asked: Asked) -> RemotingCommand:
        header = ChangeInvisibleTimeResponseHeader(
            pop_time=self.clock.millis(),
            invisible_time=int(asked.fields["invisibleTime"]),
            revive_qid=2,
        )
        return answer(header=header)


class FakeOut:
    """Where a call's answer goes; `room`: how many messages are taken before the client has gone."""

    def __init__(self, room: float = inf) -> None:
        self.sent: list[Any] = []
        self._room = room

    async def send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        if len(self.sent) >= self._room:
            await trio.sleep_forever()
        self.sent.append(message)


def caller(client_id: str = "c", seconds: float = inf, version: str = "5.1.0") -> Caller:
    """Who asks; `seconds`: until its deadline."""
    fields = {"x-mq-client-id": client_id, "x-mq-client-version": version}
    deadline = trio.current_time() + seconds
    return Caller(fields, deadline, "127.0.0.1:1", "127.0.0.1:8081", "127.0.0.1:8081")


def stored(
    body: bytes, offset: int, topic: str = "T", queue_id: int = 0, times: int = 0, **props: str
) -> bytes:
    """A record as a broker hands it out."""
    properties = {"UNIQ_KEY": f"id{offset}", **props}
    return encode_record(
        topic.encode(),
        queue_id,
        0,
        offset,
        offset * 100,
        0,
        1000,
        HOST,
        2000,
        HOST,
        times,
        0,
        body,
        format_properties(properties),
    )
