"""A server in this process whose time a test moves, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Any

from tests.patience import until_in_trio
from tests.requests import pull_header, send_header
from tests.trimq.hand.held import held
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.pop import PopMessageRequestHeader
from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import Record, parse_record
from trimq.hand.hand import Hand
from trimq.hand.operation import Nothing
from trimq.hand.time import Advance, Shown
from trimq.remoting.clients.client import Client
from trimq.serving.server import RunningServer

GROUP = "CID_ONS-HTTP-PROXY"


def real_millis() -> int:
    """By which clients go."""
    return time_ns() // 1_000_000


@dataclass
class Moving:
    hand: Hand
    server: RunningServer
    client: Client

    async def advance(self, by: str) -> Shown:
        return await self.hand.time.advance(Advance(by=by))

    async def now(self) -> int:
        return (await self.hand.time.now(Nothing())).millis

    async def ask(self, code: RequestCode, header: Any, body: bytes = b"") -> RemotingCommand:
        return await self.client.request(code, header, body, timeout=10)

    async def send(self, topic: str, body: str, sys_flag: int = 0, **properties: str) -> int:
        """To queue 0; its place in the log."""
        header = send_header(
            topic,
            default_topic_queue_nums=1,
            properties=format_properties(properties).decode(),
            born_timestamp=real_millis(),
            sys_flag=sys_flag,
        )
        answer = await self.ask(RequestCode.SEND_MESSAGE, header, body.encode())
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        return int((answer.ext_fields or {})["queueOffset"])

    def stored(self, topic: str, queue_id: int = 0) -> list[Record]:
        """What readers of this queue can see."""
        store = self.hand.context.store
        found = []
        for offset in range(store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)):
            entry = store.queue_entry(topic, queue_id, offset)
            assert entry is not None
            data = store.record_at(entry.physical_offset)
            assert data is not None
            found.append(parse_record(data))
        return found

    async def pull(self, topic: str, offset: int, wait_millis: int) -> RemotingCommand:
        header = pull_header(GROUP, topic, offset, wait_millis=wait_millis)
        return await self.ask(RequestCode.PULL_MESSAGE, header)

    async def pop(
        self, topic: str, group: str, invisible: int = 60_000, wait_millis: int = 0, **more: Any
    ) -> RemotingCommand:
        header = PopMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=-1,
            max_msg_nums=32,
            invisible_time=invisible,
            poll_time=wait_millis,
            born_time=real_millis(),
            **more,
        )
        return await self.ask(RequestCode.POP_MESSAGE, header)


@asynccontextmanager
async def moving(store: Path, **settings: str) -> AsyncIterator[Moving]:
    async with (
        held(store, settings) as (hand, server),
        Client.connect(server.broker_addr) as client,
    ):
        yield Moving(hand, server, client)


async def waiting(it: Moving, kind: str) -> None:
    """Until a request of that kind waits."""
    waits = next(part.waits[kind] for part in it.hand.broker.parts if kind in part.waits)
    await until_in_trio(lambda: waits.waiting)
