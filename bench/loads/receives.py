"""Receives without sockets, for whoever counts instructions: ``python bench/loads/receives.py FOLDER COUNT``.

It runs in whatever tree is on Python's path, so it knows nothing but `trimq`. Before and after each of LOADS it asks
the system for its priority, which nobody else does here: valgrind writes down what it has counted when it sees that.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import PullFlag
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import Reply, Turn, encode_replies, take_turn
from trimq.remoting.testing import RecordingPeer
from trimq.settings.options import ServerOptions, server_plan
from trimq.store.message_store import MessageStore
from trimq.wiring.broker import build_broker
from trimq.wiring.context import Context
from trimq.wiring.parts.brokers.cluster import NameServers

TOPIC: Final = "Receives"
# Of the pulls that are held: what wakes one is sent there, and nothing else.
QUIET: Final = "ReceivesHeld"
GROUP: Final = "receives"
BATCH: Final = 32
BODY: Final = b"x" * 128
PROPERTIES: Final = "UNIQ_KEY\x010A0B0C0D00002A9F4E5B6C7D8E9F0001\x02WAIT\x01true\x02TAGS\x01TagA"
ROOM: Final = 1 << 26
HOLD_MILLIS: Final = 3_600_000
# As many as a server is asked before its figures count.
WARM_UP: Final = 50


class Receives:
    """One client of a broker; each method is one receive, or two."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._frames = FrameBuffer()
        self._peer = RecordingPeer()
        self._send = _send(TOPIC)
        self._sends = self._send * BATCH
        self._wake = _send(QUIET)
        # The first one makes the topic: one that is unknown is not waited for.
        self._answered(self._take(self._wake), 1)
        self._held = 1

    async def send(self) -> None:
        self._answered(self._take(self._send), 1)

    async def sends(self) -> None:
        self._answered(self._take(self._sends), BATCH)

    async def pull(self) -> None:
        """It finds messages."""
        self._answered(self._take(_pull(TOPIC, 0)), 1)

    async def held(self) -> None:
        """It finds none, and is answered when one is sent."""
        turn = self._take(_pull(QUIET, self._held))
        self._held += 1
        waiting = turn.waiting[0]
        replies: list[Reply] = []

        async def wait() -> None:
            response = await self._dispatcher.finish(waiting.later)
            replies.append(Reply(waiting.later.request.opaque, waiting.coding, response))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            # Trio draws who goes first: after two of them it waits, whoever that was.
            for _ in range(2):
                await trio.lowlevel.checkpoint()
            self._answered(self._take(self._wake), 1)
        self._encode(replies)

    def _take(self, raw: bytes) -> Turn:
        self._frames.feed(raw)
        return take_turn(self._frames, self._dispatcher, self._peer, ROOM)

    def _answered(self, turn: Turn, count: int) -> None:
        if len(turn.replies) != count:
            raise RuntimeError(f"{count} answers were expected: {len(turn.replies)}")
        self._encode(turn.replies)

    def _encode(self, replies: list[Reply]) -> None:
        wrong = [one.response for one in replies if one.response.code != ResponseCode.SUCCESS]
        if wrong:
            raise RuntimeError(f"{wrong[0].code}: {wrong[0].remark}")
        for reply in replies:
            body = reply.response.body
            encode_replies([reply], self._dispatcher)
            # What the kernel would be given is let go.
            close = getattr(body, "close", None)
            if close is not None:
                close()


# In this order: what one sends, another pulls.
LOADS: Final[dict[str, Callable[[Receives], Awaitable[None]]]] = {
    "send": Receives.send,
    "sends": Receives.sends,
    "pull": Receives.pull,
    "held": Receives.held,
}


@contextmanager
def opened(folder: Path) -> Iterator[Receives]:
    """A broker without sockets and services on an empty store."""
    options = ServerOptions(
        store=folder, listen="127.0.0.1:0", namesrv_listen="127.0.0.1:0", settings={}
    )
    plan, clock = server_plan(options), Clock()
    store = MessageStore(plan.store, clock.millis)
    store.open()
    identity = BrokerIdentity("DefaultCluster", "b", 0, "127.0.0.1:10911", "127.0.0.1:10912")
    broker = build_broker(Context(plan, identity, store, clock), NameServers())
    try:
        yield Receives(broker.main)
    finally:
        broker.parts.close()
        store.close()


async def count(receives: Receives, times: int) -> None:
    """Each load, between two marks."""
    for load in LOADS.values():
        for _ in range(WARM_UP):
            await load(receives)
        gc.collect()
        gc.freeze()
        _mark()
        for _ in range(times):
            await load(receives)
        _mark()


def _mark() -> None:
    os.getpriority(os.PRIO_PROCESS, 0)


def _send(topic: str) -> bytes:
    header = SendMessageRequestHeaderV2(
        producer_group="receives",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1_700_000_000_000,
        flag=0,
        properties=PROPERTIES,
    )
    return _frame(RequestCode.SEND_MESSAGE_V2, header, BODY)


def _pull(topic: str, offset: int) -> bytes:
    header = PullMessageRequestHeader(
        consumer_group=GROUP,
        topic=topic,
        queue_id=0,
        queue_offset=offset,
        max_msg_nums=BATCH,
        sys_flag=int(PullFlag.SUBSCRIPTION | PullFlag.SUSPEND),
        commit_offset=0,
        suspend_timeout_millis=HOLD_MILLIS,
        subscription="*",
        sub_version=0,
    )
    return _frame(RequestCode.PULL_MESSAGE, header)


def _frame(code: RequestCode, header: Header, body: bytes = b"") -> bytes:
    return encode_command(
        RemotingCommand(int(code), 1, ext_fields=encode_header(header), body=body)
    )


def main() -> None:
    """Says the names of the loads."""
    folder, times = sys.argv[1:]
    with opened(Path(folder)) as receives:
        trio.run(count, receives, int(times))
    print(" ".join(LOADS))


if __name__ == "__main__":
    main()
