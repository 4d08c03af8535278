"""What processors and managers need from remoting: one import for all of it.

One processor per request code; it sees its typed header, not the socket, and answers by returning.
"""

from typing import ClassVar, Generic, Protocol, cast

from trimq.codec.headers.base import Header, decode_header
from trimq.remoting.errors import FeatureMissing, LimitReached, PeerGone, RemotingError
from trimq.remoting.exchange import H, Later, Request, Response
from trimq.remoting.gate import Awaited, Gate
from trimq.remoting.held_replies import HeldReplies
from trimq.remoting.peer import Body, Buffer, Peer

__all__ = [
    "Awaited",
    "Body",
    "Buffer",
    "ConnectionListener",
    "FeatureMissing",
    "Gate",
    "H",
    "HeldReplies",
    "Later",
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

    `handle` runs in the read loop: the requests of a connection are decided in their order. What has
    to wait continues in its own task (`Later`), and replies match by opaque.
    """

    codes: ClassVar[tuple[int, ...]] = ()
    header: ClassVar[type[Header] | None] = None
    shows_no_fields: ClassVar[bool] = False
    """Whether an answer without ext fields says so, in JSON: RocketMQ gives it a header of its own from the start.
    Clients may insist on it.
    """
    joins_rounds: ClassVar[bool] = False
    """Whether it may be decided while records of other connections are staged: for what comes with every message.
    Everything else is decided when those are written (`serving/receive_round.py`).
    """

    def decode_header(self, ext_fields: dict[str, str]) -> H:
        """The typed header; the codes of every message override this with a compiled decoder."""
        if self.header is None:
            return cast(H, None)
        return cast(H, decode_header(self.header, ext_fields))

    def handle(self, request: Request[H]) -> Response | Later:
        """Decide, once. RemotingError is an answer too, here and later."""
        raise NotImplementedError


class ConnectionListener(Protocol):
    """Notified of every connection that begins and ends."""

    def opened(self, peer: Peer) -> None: ...

    def closed(self, peer: Peer) -> None: ...
