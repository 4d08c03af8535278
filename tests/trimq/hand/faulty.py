"""A server with faults, in the same process: who asks its hand, and the requests that meet the faults."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import trio

from tests.requests import heartbeat, pull_header, send_header, send_header_v2, topic_header
from tests.trimq.hand.held import asked, held
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.hand.hand import Hand
from trimq.remoting.clients.client import Client
from trimq.serving.server import RunningServer

TOPIC: Final = "T"
GROUP: Final = "G"


@dataclass
class Faulty:
    """`client`: whoever sends and pulls, unless another one is given."""

    hand: Hand
    server: RunningServer
    client: Client

    async def ask(self, path: str, **words: Any) -> Any:
        """The answer as whoever asks over HTTP decodes it. HandError."""
        return await asked(self.hand, f"faults/{path}", **words)

    async def hits(self) -> list[int]:
        return [one["hits"] for one in await self.ask("list")]

    async def prepare(self) -> None:
        """The topic and the group."""
        await self.client.request(
            RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(TOPIC, 4, order=False)
        )
        body = encode_body(SubscriptionGroupConfig(group_name=GROUP))
        await self.client.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)

    async def send(
        self,
        topic: str = TOPIC,
        group: str = "P",
        client: Client | None = None,
        seconds: float = 60,
    ) -> RemotingCommand:
        header = send_header(topic, producer_group=group)
        ask = (client or self.client).request
        return await ask(RequestCode.SEND_MESSAGE, header, b"body", seconds)

    async def send_oneway(self) -> None:
        self.client.oneway(RequestCode.SEND_MESSAGE, send_header(TOPIC), b"body")

    async def send_v2(self, topic: str = TOPIC, group: str = "P") -> RemotingCommand:
        header = send_header_v2(topic, producer_group=group)
        return await self.client.request(RequestCode.SEND_MESSAGE_V2, header, b"body")

    async def pull(
        self, offset: int = 0, wait_millis: int = 0, client: Client | None = None
    ) -> RemotingCommand:
        header = pull_header(GROUP, TOPIC, offset, wait_millis=wait_millis)
        return await (client or self.client).request(RequestCode.PULL_MESSAGE, header, timeout=60)

    async def beat(self, client_id: str, client: Client | None = None) -> RemotingCommand:
        body = heartbeat([GROUP], topics=[TOPIC], client_id=client_id)
        return await (client or self.client).request(RequestCode.HEART_BEAT, None, body)

    async def stored(self, queue: int = 0) -> int:
        """How many messages the queue has."""
        header = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=queue)
        answer = await self.client.request(RequestCode.GET_MAX_OFFSET, header)
        return int((answer.ext_fields or {})["offset"])


@asynccontextmanager
async def faulty(root: Path, settings: Mapping[str, str] | None = None) -> AsyncIterator[Faulty]:
    async with (
        held(root / "store", settings) as (hand, server),
        Client.connect(server.broker_addr) as client,
    ):
        it = Faulty(hand, server, client)
        await it.prepare()
        try:
            yield it
        finally:
            # The disk is the whole process's.
            with trio.CancelScope(shield=True):
                await it.ask("mend_disk")


def code(answer: RemotingCommand) -> str:
    return ResponseCode(answer.code).name
