"""What processors and managers need to know of remoting: one import for all of it.

One processor per request code; it sees its typed header, not the socket, and answers by returning.
"""

from collections.abc import Awaitable
from typing import ClassVar, Generic, Protocol, cast

from trimq.codec.headers.base import Header, decode_header
from trimq.remoting.errors import FeatureMissing, LimitReached, PeerGone, RemotingError
from trimq.remoting.exchange import H, Request, Response
from trimq.remoting.gate import Gate
from trimq.remoting.holdback import Holdback
from trimq.remoting.peer import Body, Buffer, Peer

__all__ = [
    "Body",
    "Buffer",
    "ConnectionListener",
    "FeatureMissing",
    "Gate",
    "H",
    "Holdback",
    "LimitReached",
    "Peer",
    "PeerGone",
    "Processor",
    "RemotingError",
    "Request",
    "Response",
]


class Processor(Generic[H]):
    """Answers the requests of its codes.

    A plain `handle` is answered in the read loop, in order. One that has to wait is an `async def`
    with `waits = True`: it gets a task of its own, and replies match by opaque.
    """

    codes: ClassVar[tuple[int, ...]] = ()
    header: ClassVar[type[Header] | None] = None
    waits: ClassVar[bool] = False
    # Whether a request that waits needs its body then.
    keeps_body: ClassVar[bool] = True

    def decode_header(self, ext_fields: dict[str, str]) -> H:
        """The typed header; the codes of every message override this with a compiled decoder."""
        if self.header is None:
            return cast(H, None)
        return cast(H, decode_header(self.header, ext_fields))

    def handle_at_once(self, request: Request[H]) -> Response | None:
        """For processors that wait: the answer if it is there already, or None to get a task.

        Spares the common case (data lies ready) a task of its own.
        """
        return None

    def handle(self, request: Request[H]) -> Response | Awaitable[Response]:
        raise NotImplementedError


class ConnectionListener(Protocol):
    """Told of every connection that begins and ends."""

    def opened(self, peer: Peer) -> None: ...

    def closed(self, peer: Peer) -> None: ...
