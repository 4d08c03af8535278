"""The other end of a connection, as processors and managers see it."""

from collections.abc import Sequence
from typing import TypeVar

import trio

from trimq.base.file_body import FileBody
from trimq.base.step_queue import Steps
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header

# Bytes: a view has items of one byte.
Buffer = bytes | bytearray | memoryview
Body = Buffer | Sequence[Buffer]
# What an answer may have as well.
ReplyBody = Body | FileBody
T = TypeVar("T")


class Peer:
    """Known by `remote_addr` ("ip:port") and an id that no later connection gets again.

    A connection implements the ways of talking to it; on its own this class is only a name.
    """

    __slots__ = (
        "__weakref__",
        "closed",
        "id",
        "packed_host",
        "remote_addr",
        "takes_files",
        "takes_views",
    )

    def __init__(self, remote_addr: str, packed_host: bytes, peer_id: int) -> None:
        self.remote_addr = remote_addr
        self.packed_host = packed_host
        self.id = peer_id
        self.closed = False
        # Whether only the kernel will read the bytes of a body: then they may be a view of a file.
        self.takes_views = False
        # Whether a body may leave from the files in which it lies.
        self.takes_files = False

    def __repr__(self) -> str:
        return f"<Peer {self.id} {self.remote_addr}{' closed' if self.closed else ''}>"

    def oneway(self, code: int, header: Header | None = None, body: Body = b"") -> None:
        """Queue a one-way request. Never blocks; dropped when the peer is gone or does not read."""
        raise NotImplementedError

    async def ask(
        self, code: int, header: Header | None = None, body: Body = b"", timeout: float = 3
    ) -> RemotingCommand:
        """Send a request and wait for its answer; trio.TooSlowError or PeerGone when none comes."""
        raise NotImplementedError

    async def room(self) -> None:
        """Wait until the peer has read enough of what was sent to it.

        A processor that waits calls this before it fetches a large body: data fetched for a peer
        that does not read would only pile up.
        """

    async def in_turn(self, steps: Steps[T]) -> T:
        """The outcome of long work for this peer: in steps, between what others want, dropped with the connection.

        A connection has one of them under way, and not before the peer has read enough. What the steps yield is the
        bytes by which the outcome has grown. Here they are taken one after the other.
        """
        while True:
            await trio.lowlevel.checkpoint()
            try:
                next(steps)
            except StopIteration as end:
                outcome: T = end.value
                return outcome

    def close(self, reason: str) -> None:
        """End the connection soon; anything queued for it is dropped."""
        self.closed = True
