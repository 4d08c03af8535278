"""The consumers' side of the proxy, put together before a fake broker."""

from __future__ import annotations

import trio

from tests.proxy.fake_broker import BROKER, NAMESRV, FakeBroker, FakeOut, answer, caller, stored
from trimq.base.clock import TrioClock
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.handing_out import HandingOut
from trimq.proxy.lite import LiteSubscriptions
from trimq.proxy.metadata import Metadata
from trimq.proxy.popping import Popping
from trimq.proxy.protos.definition_pb2 import ClientType, Code, Settings
from trimq.proxy.protos.service_pb2 import ReceiveMessageRequest
from trimq.proxy.receipts import Receipts
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.receive_message import ReceiveMessage
from trimq.proxy.settings import SettingsMerger


class Consuming:
    """A client `c` of group G, whose settings are known."""

    def __init__(self, nursery: trio.Nursery, config: ProxyConfig | None = None) -> None:
        self.config = config = config or ProxyConfig()
        self.clock = TrioClock()
        self.broker = FakeBroker(self.clock)
        self.clients = Clients()
        routes = Routes(self.broker, [NAMESRV], 20)
        metadata = Metadata(self.broker, routes, "DefaultCluster", 20)
        self.acknowledging = Acknowledging(self.broker, routes, self.clock, nursery)
        self.receipts = Receipts(
            config,
            self.acknowledging,
            metadata.group,
            lambda client_id, group: self.clients.is_here(client_id, group, 120),
            self.clock,
            nursery,
        )
        self.lite = LiteSubscriptions(
            self.broker, routes, metadata, config.max_sync_lite_subscription_rate, nursery
        )
        self.receive_message = ReceiveMessage(
            config,
            routes,
            self.clients,
            SettingsMerger(config, metadata),
            self.receipts,
            Popping(self.broker, self.acknowledging),
            HandingOut(self.acknowledging, self.receipts, self.clients, self.clock),
            self.clock,
        )
        self.join()

    def join(self, kind: ClientType = ClientType.PUSH_CONSUMER, topic: str = "T") -> None:
        """The client says who it is."""
        client = self.clients.heard_of("c", "127.0.0.1:1")
        settings = Settings(client_type=kind)
        settings.request_timeout.FromMilliseconds(3000)
        settings.subscription.group.name = "G"
        settings.subscription.subscriptions.add().topic.name = topic
        client.settings = settings

    def found(self, *records: bytes, invisible: int = 60_000, **fields: str) -> RemotingCommand:
        """What a broker answers that has these."""
        header = PopMessageResponseHeader(
            pop_time=self.clock.millis(),
            invisible_time=invisible,
            revive_qid=1,
            rest_num=0,
            **fields,
        )
        return answer(header=header, body=b"".join(records))

    def has(self, *records: bytes, **fields: str) -> None:
        """From now on a pop finds these."""
        self.broker.answers[RequestCode.POP_MESSAGE] = lambda _: self.found(*records, **fields)

    async def receive(self, request: ReceiveMessageRequest, **who: object) -> list[str]:
        """What was said, in short."""
        out = FakeOut()
        await self.receive_message(caller(**who), request, out)  # type: ignore[arg-type]
        return [told(one) for one in out.sent]


def asking(topic: str = "T", group: str = "G", **fields: object) -> ReceiveMessageRequest:
    """A ReceiveMessage as clients send it."""
    request = ReceiveMessageRequest(**{"batch_size": 32, **fields})  # type: ignore[arg-type]
    request.group.name = group
    request.message_queue.topic.name = topic
    request.message_queue.broker.name = BROKER
    request.invisible_duration.FromMilliseconds(30_000)
    return request


def told(response: object) -> str:
    """`OK: OK`, a message's body, or `time`."""
    kind = response.WhichOneof("content")  # type: ignore[attr-defined]
    if kind == "status":
        status = response.status  # type: ignore[attr-defined]
        return f"{Code.Name(status.code)}: {status.message}"
    if kind == "message":
        return response.message.body.decode()  # type: ignore[attr-defined,no-any-return]
    return "time"


def record(body: str, offset: int = 0, times: int = 0, **properties: str) -> bytes:
    return stored(body.encode(), offset, times=times, **properties)
