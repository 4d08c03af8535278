"""For tests of the layers above: requests answered without a connection, wires in memory."""

from typing import Any

import trio
import trio.testing

from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.records.addresses import pack_host
from trimq.remoting.contract import Processor, Request, Response
from trimq.remoting.errors import PeerGone
from trimq.remoting.peer import Body, Peer
from trimq.remoting.wire.streams import StreamWire, Wire


class RecordingPeer(Peer):
    """Keeps what it was sent as (code, header, body); `answers` are returned to questions in turn."""

    __slots__ = ("answers", "asked", "notices")

    def __init__(self, remote_addr: str = "127.0.0.1:40000", peer_id: int = 1) -> None:
        super().__init__(remote_addr, pack_host(remote_addr), peer_id)
        self.notices: list[tuple[int, Header | None, Body]] = []
        self.asked: list[tuple[int, Header | None, Body]] = []
        self.answers: list[RemotingCommand] = []

    def oneway(self, code: int, header: Header | None = None, body: Body = b"") -> None:
        if not self.closed:
            self.notices.append((int(code), header, body))

    async def ask(
        self, code: int, header: Header | None = None, body: Body = b"", timeout: float = 3
    ) -> RemotingCommand:
        await trio.lowlevel.checkpoint()
        if self.closed:
            raise PeerGone(f"{self.remote_addr} is gone")
        self.asked.append((int(code), header, body))
        if not self.answers:
            raise trio.TooSlowError
        return self.answers.pop(0)


async def answer(processor: Processor[Any], request: Request[Any]) -> Response:
    """What the dispatcher makes of both parts of an answer, except errors."""
    outcome = processor.handle(request)
    return outcome if isinstance(outcome, Response) else await outcome.answer(request)


def answered(processor: Processor[Any], request: Request[Any]) -> Response:
    """The same without a loop, of what waits for nothing but its turn."""
    return trio.run(answer, processor, request)


def memory_wires() -> tuple[Wire, Wire]:
    """Two ends, joined in memory: with Trio's MockClock a long wait takes no time."""
    near, far = trio.testing.memory_stream_pair()
    return StreamWire(near), StreamWire(far)
