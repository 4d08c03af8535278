"""A broker and a NameServer in this process without sockets: dispatchers over a store of their own."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import trio

from tests.requests import send_header
from trimq.base.clock import Clock
from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import JSON, RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import encode_header
from trimq.remoting.contract import Processor
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import Reply, WaitingRequest, encode_replies, take_turn
from trimq.remoting.testing import RecordingPeer
from trimq.settings.options import ServerOptions, server_plan
from trimq.store.message_store import MessageStore
from trimq.wiring.broker import Broker, build_broker
from trimq.wiring.context import Context
from trimq.wiring.namesrv import build_namesrv
from trimq.wiring.parts.brokers.cluster import NameServers

SETTINGS = {
    "mappedFileSizeCommitLog": "67108864",
    "mappedFileSizeConsumeQueue": "60000",
    "maxIndexNum": "5000",
    "maxHashSlotNum": "1000",
    "maxTopics": "2000",
    "maxGroups": "2000",
}
ROOM = 1 << 26


class Alarm(logging.Handler):
    """Keeps the exceptions that nobody foresaw: they are logged as errors with their traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.said.append(logging.Formatter().format(record))


@contextmanager
def alarm() -> Iterator[Alarm]:
    handler = Alarm()
    log = logging.getLogger("trimq")
    log.addHandler(handler)
    quiet = log.level
    log.setLevel(logging.ERROR)
    try:
        yield handler
    finally:
        log.removeHandler(handler)
        log.setLevel(quiet)


@dataclass
class Side:
    """One of the two servers, and a client of it."""

    dispatcher: Dispatcher
    headers: dict[int, list[str]]
    peer: RecordingPeer = field(default_factory=RecordingPeer)
    waiting: list[WaitingRequest] = field(default_factory=list)

    def take(self, raw: bytes) -> list[RemotingCommand]:
        """What one receive with these bytes is answered at once; what waits is kept in `waiting`."""
        frames = FrameBuffer()
        frames.feed(raw)
        turn = take_turn(frames, self.dispatcher, self.peer, ROOM)
        self.waiting += turn.waiting
        return self.encoded(turn.replies)

    def encoded(self, replies: list[Reply]) -> list[RemotingCommand]:
        frames = FrameBuffer()
        frames.feed(b"".join(encode_replies(replies, self.dispatcher).buffers))
        return [decode_command(one) for one in iter(frames.next_frame, None)]

    async def let_go(self) -> None:
        """Give what waits a moment, and cancel it."""
        async with trio.open_nursery() as nursery:
            for waiting in self.waiting:
                nursery.start_soon(self._finish, waiting)
            for _ in range(10):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        self.waiting.clear()

    async def _finish(self, waiting: WaitingRequest) -> None:
        response = await self.dispatcher.finish(waiting.later)
        self.encoded([Reply(waiting.later.request.opaque, waiting.coding, response)])


@dataclass
class Servers:
    broker: Broker
    store: MessageStore
    sides: tuple[Side, Side]


@contextmanager
def whole_servers(folder: Path) -> Iterator[Servers]:
    """A broker and a NameServer on an open store."""
    options = ServerOptions(
        store=folder, listen="127.0.0.1:0", namesrv_listen="127.0.0.1:0", settings=SETTINGS
    )
    plan = server_plan(options)
    assert plan.embedded is not None
    clock = Clock()
    store = MessageStore(plan.store, clock.millis)
    store.open()
    identity = BrokerIdentity("DefaultCluster", "b", 0, "127.0.0.1:10911", "127.0.0.1:10912")
    broker = build_broker(Context(plan, identity, store, clock), NameServers())
    namesrv = build_namesrv(
        plan.embedded.namesrv,
        clock,
        plan.embedded.sources,
        (plan.embedded.server, plan.embedded.tls),
    )
    try:
        yield Servers(
            broker,
            store,
            (
                Side(broker.main, _headers(broker.parts.processors)),
                Side(Dispatcher(namesrv.parts.processors), _headers(namesrv.parts.processors)),
            ),
        )
    finally:
        broker.parts.close()
        store.close()


def _headers(table: list[Processor[Any]]) -> dict[int, list[str]]:
    """The names of the fields that each code's header has."""
    found = {}
    for processor in table:
        header = getattr(processor, "header", None)
        is_struct = isinstance(header, type) and issubclass(header, msgspec.Struct)
        names = [one.encode_name for one in msgspec.structs.fields(header)] if is_struct else []
        found.update({int(code): names for code in processor.codes})
    return found


def send_of(topic: str, body: bytes) -> bytes:
    header = send_header(topic, producer_group="alive", default_topic_queue_nums=1)
    command = RemotingCommand(
        int(RequestCode.SEND_MESSAGE), 1, ext_fields=encode_header(header), body=body, coding=JSON
    )
    return encode_command(command)


class Calls:
    """Counts calls of functions, Python's and built-in ones, while it is on."""

    def __init__(self) -> None:
        self.count = 0

    def _profile(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    @contextmanager
    def counted(self) -> Iterator[None]:
        self.count = 0
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)


__all__ = ["Calls", "ResponseCode", "Servers", "Side", "alarm", "send_of", "whole_servers"]
