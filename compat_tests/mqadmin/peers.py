"""A NameServer and a broker for one tool, whose answers somebody else gives: by asking real ones, or by heart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Literal

import trio

from compat_tests.mqadmin.places import RECORDED, Move, Places
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FRAME_LIMIT, FrameBuffer

Role = Literal["namesrv", "broker"]
ROLES: Final[tuple[Role, ...]] = ("namesrv", "broker")
# Who is asked, and what; with the addresses of records in question and answer.
Answer = Callable[[Role, RemotingCommand], Awaitable[RemotingCommand]]


class Peers:
    """Two servers on free ports, until the block of `open_peers` ends."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.inward = Move(places, RECORDED)
        self.outward = Move(RECORDED, places)


@asynccontextmanager
async def open_peers(answer: Answer) -> AsyncIterator[Peers]:
    async with trio.open_nursery() as nursery:
        listeners = {
            role: (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0] for role in ROLES
        }
        addrs = {
            role: f"127.0.0.1:{listener.socket.getsockname()[1]}"
            for role, listener in listeners.items()
        }
        peers = Peers(Places(addrs["namesrv"], addrs["broker"]))
        for role, listener in listeners.items():
            talk = partial(_talk, peers, role, answer)
            nursery.start_soon(trio.serve_listeners, talk, [listener])
        yield peers
        nursery.cancel_scope.cancel()


async def _talk(peers: Peers, role: Role, answer: Answer, stream: trio.SocketStream) -> None:
    """One connection, until the tool leaves."""
    frames = FrameBuffer(FRAME_LIMIT)
    async for data in stream:
        frames.feed(bytes(data))
        while (frame := frames.next_frame()) is not None:
            asked = decode_command(frame)
            said = peers.outward.command(await answer(role, peers.inward.command(asked)))
            said.opaque = asked.opaque
            await stream.send_all(encode_command(said))
