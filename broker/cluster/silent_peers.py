"""Questions that a peer may leave unanswered: servers of 4.x are silent on requests that they do not know.

Whoever asks one must be able to do without the answer. From an old peer a silence is one: it has a short time of its
own, does not count against the connection, and the question is not asked again for a while. From a newer peer, or one
of which nothing is known, it is a silence like any other.
"""

from typing import Final

import trio

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.versions import version_number
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import RemotingTimeout

# As long as RocketMQ waits for a NameServer that it asks for the members of a group.
_PATIENCE: Final = 3.0
# A peer may be replaced by a newer one, at the same address.
_MUTE_SECONDS: Final = 600.0
# NameServers answer every request since then; brokers since 4.9.1, and those of 4.x have none of what is asked so.
_OUTSPOKEN: Final = version_number("V5_0_0")


class SilentPeers:
    """What one peer left unanswered, and until when it is not asked that again."""

    __slots__ = ("_mute", "_version")

    def __init__(self) -> None:
        self._mute: dict[int, float] = {}
        self._version = _OUTSPOKEN

    def answered(self, version: int) -> None:
        """The peer answered something; `version` is in the head of every answer."""
        self._version = version

    async def ask(
        self, client: Client, code: int, header: Header | None = None, body: bytes = b""
    ) -> RemotingCommand | None:
        """None: the peer does not know the request. TransportError as it comes."""
        if trio.current_time() < self._mute.get(code, 0):
            return None
        reply = None
        try:
            reply = await client.request(code, header, body, _PATIENCE)
            self._version = reply.version
        except RemotingTimeout:
            if self._version >= _OUTSPOKEN:
                raise
        if reply is None or reply.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._mute[code] = trio.current_time() + _MUTE_SECONDS
            return None
        self._mute.pop(code, None)
        return reply
