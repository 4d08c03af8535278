"""Questions that a peer may leave unanswered: servers of 4.x are silent on requests that they do not know.

Whoever asks one must be able to do without the answer. Such a question has a short time of its own, does not count
against the connection, and is not asked again for a while.
"""

from typing import Final

import trio

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import RemotingTimeout

# As long as RocketMQ waits for a NameServer that it asks for the members of a group.
_PATIENCE: Final = 3.0
# A peer may be replaced by a newer one, at the same address.
_MUTE_SECONDS: Final = 600.0


class Courtesy:
    """What one peer left unanswered, and until when it is not asked that again."""

    __slots__ = ("_mute",)

    def __init__(self) -> None:
        self._mute: dict[int, float] = {}

    async def ask(
        self, client: Client, code: int, header: Header | None = None, body: bytes = b""
    ) -> RemotingCommand | None:
        """None: the peer does not know the request, or does not say. PeerGone as it comes."""
        if trio.current_time() < self._mute.get(code, 0):
            return None
        try:
            reply = await client.request(code, header, body, _PATIENCE)
        except RemotingTimeout:
            reply = None
        if reply is None or reply.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._mute[code] = trio.current_time() + _MUTE_SECONDS
            return None
        self._mute.pop(code, None)
        return reply
