"""A server with looks, in the same process: what tests send to it, and what they ask of its hand."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.requests import send_header, topic_header
from tests.trimq.hand.held import asked, held
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.codec.records.properties import format_properties
from trimq.hand.hand import Hand
from trimq.remoting.clients.client import Client
from trimq.serving.server import RunningServer

T = TypeVar("T")


@dataclass
class Looking:
    hand: Hand
    server: RunningServer
    client: Client

    _opened: AsyncExitStack

    async def connect_again(self) -> None:
        """As clients do whose broker has started anew."""
        await self._opened.aclose()
        self.client = await self._opened.enter_async_context(
            Client.connect(self.server.broker_addr)
        )

    async def ask(self, path: str, **words: Any) -> Any:
        """The answer as whoever asks over HTTP decodes it. HandError."""
        return await asked(self.hand, path, **words)

    async def get(self, answer: type[T], path: str, **words: Any) -> T:
        return msgspec.convert(await self.ask(path, **words), answer)

    async def request(self, code: RequestCode, header: Any, body: bytes = b"") -> RemotingCommand:
        answer = await self.client.request(code, header, body)
        assert answer.code == ResponseCode.SUCCESS, (answer.code, answer.remark)
        return answer

    async def create(self, topic: str, queues: int = 1) -> None:
        await self.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(topic, queues))

    async def create_group(self, group: str) -> None:
        body = encode_body(SubscriptionGroupConfig(group_name=group))
        await self.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)

    async def send(
        self, topic: str, body: bytes, queue_id: int = 0, sys_flag: int = 0, **properties: str
    ) -> RemotingCommand:
        text = format_properties(properties).decode()
        header = send_header(topic, queue_id=queue_id, properties=text, sys_flag=sys_flag)
        return await self.request(RequestCode.SEND_MESSAGE, header, body)

    async def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset
        )
        await self.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)


@asynccontextmanager
async def looking(store: Path, settings: Mapping[str, str] | None = None) -> AsyncIterator[Looking]:
    async with held(store, settings) as (hand, server), AsyncExitStack() as opened:
        client = await opened.enter_async_context(Client.connect(server.broker_addr))
        yield Looking(hand, server, client, opened)
