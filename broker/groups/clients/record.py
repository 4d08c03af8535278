"""A connected client as heartbeats describe it (ClientChannelInfo)."""

from trimq.codec.versions import version_name
from trimq.remoting.contract import Peer


class Client:
    """Who is at the other end of a connection, for one group, and when it was last heard from."""

    __slots__ = ("client_id", "language", "last_update", "peer", "version")

    def __init__(
        self, peer: Peer, client_id: str, language: int, version: int, last_update: int
    ) -> None:
        self.peer = peer
        self.client_id = client_id
        self.language = language
        self.version = version
        self.last_update = last_update

    def __repr__(self) -> str:
        return f"{self.client_id} {self.peer.remote_addr} {version_name(self.version)}"
