"""Our tool on a real server, with everything noted that goes over the wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import trio

from compat_tests.mqadmin.exchanges import Exchange
from compat_tests.mqadmin.masks import Addressed
from compat_tests.mqadmin.peers import Peers, Role, open_peers
from compat_tests.mqadmin.places import RECORDED, Move, Places
from compat_tests.mqadmin.tools import Printed
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FRAME_LIMIT, FrameBuffer

# In place of the folder of a run's servers.
STAGE: Final = "/stage"


class Tool(Protocol):
    def run(self, namesrv: str, words: Sequence[str]) -> Printed: ...

    def interrupt(self, namesrv: str, words: Sequence[str], lines: int) -> Printed: ...


class RelayedTool:
    """Looks like the tool that it runs; `lines` are the exchanges of each command line since they were cleared."""

    name = "ours"

    def __init__(self, tool: Tool, server: Addressed, folder: Path) -> None:
        """`folder` holds the server's files."""
        self._tool = tool
        self._server = server
        self.lines: list[list[Exchange]] = []
        self._folder = folder

    @property
    def recording(self) -> Move:
        """From the server's addresses to those of records."""
        return Move(self._real, RECORDED, [(str(self._folder), STAGE)])

    def run(self, namesrv: str, words: Sequence[str]) -> Printed:
        return self._relayed(words, self._tool.run)

    def interrupt(self, namesrv: str, words: Sequence[str], lines: int) -> Printed:
        return self._relayed(words, lambda where, moved: self._tool.interrupt(where, moved, lines))

    @property
    def _real(self) -> Places:
        return Places(self._server.namesrv_addr, self._server.broker_addr)

    def _relayed(
        self, words: Sequence[str], run: Callable[[str, Sequence[str]], Printed]
    ) -> Printed:
        return trio.run(self._relay, words, run)

    async def _relay(
        self, words: Sequence[str], run: Callable[[str, Sequence[str]], Printed]
    ) -> Printed:
        heard: list[Exchange] = []
        self.lines.append(heard)
        async with AsyncExitStack() as stack:
            real = _RealServers(self._real, self.recording, heard, stack)
            peers: Peers = await stack.enter_async_context(open_peers(real.ask))
            there = Move(self._real, peers.places)
            back = Move(peers.places, self._real, [(STAGE, str(self._folder))])
            printed = await trio.to_thread.run_sync(
                run, peers.places.namesrv_addr, [there.text(word) for word in words]
            )
            return replace(printed, out=back.text(printed.out), err=back.text(printed.err))


class _RealServers:
    """Asks them, by one connection to each, and notes what was said."""

    def __init__(
        self, places: Places, inward: Move, heard: list[Exchange], stack: AsyncExitStack
    ) -> None:
        self._addrs: dict[Role, str] = {
            "namesrv": places.namesrv_addr,
            "broker": places.broker_addr,
        }
        self._inward = inward
        self._outward = Move(RECORDED, places)
        self._heard = heard
        self._stack = stack
        self._streams: dict[Role, trio.SocketStream] = {}

    async def ask(self, role: Role, question: RemotingCommand) -> RemotingCommand:
        at = time.time_ns() // 1_000_000
        stream = self._streams.get(role)
        if stream is None:
            host, _, port = self._addrs[role].rpartition(":")
            stream = await trio.open_tcp_stream(host, int(port))
            self._streams[role] = await self._stack.enter_async_context(stream)
        await stream.send_all(encode_command(self._outward.command(question)))
        answer = self._inward.command(await _answer(stream, question.opaque))
        self._heard.append(Exchange(role, at, question, answer))
        return answer


async def _answer(stream: trio.SocketStream, opaque: int) -> RemotingCommand:
    frames = FrameBuffer(FRAME_LIMIT)
    async for data in stream:
        frames.feed(bytes(data))
        while (frame := frames.next_frame()) is not None:
            command = decode_command(frame)
            if command.is_response and command.opaque == opaque:
                return command
    raise ConnectionError("the real server has ended the connection")
