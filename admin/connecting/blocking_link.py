"""What operations ask through in plain code. Loads no Trio."""

import ssl
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from trimq.admin.connecting.older import Peers
from trimq.admin.connecting.signing import AccessKeys
from trimq.codec.codes import AnyRequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.clients.blocking import BlockingClient

R = TypeVar("R")


class BlockingLink:
    """A Link whose questions block the thread instead of suspending a task."""

    def __init__(
        self,
        name_servers: Sequence[str],
        timeout: float,
        tls: ssl.SSLContext | None,
        keys: AccessKeys | None,
    ) -> None:
        self.name_servers = name_servers
        self._timeout = timeout
        self._tls = tls
        self._keys = keys
        self._clients: dict[str, BlockingClient] = {}
        self.peers = Peers()

    async def ask(
        self, addr: str, code: AnyRequestCode, header: Header | None, body: bytes, factor: float
    ) -> RemotingCommand:
        """See `admin.link.Link`; never suspends."""
        client = self._clients.get(addr)
        if client is None or client.closed:
            client = BlockingClient(addr, tls=self._tls, timeout=self._timeout)
            self._clients[addr] = client
        if self._keys is not None:
            header = self._keys.signed(header, body)
        return client.request(code, header, body, self._timeout * factor)

    def now(self) -> int:
        """Wall-clock milliseconds."""
        return time.time_ns() // 1_000_000

    def close(self) -> None:
        """End every connection."""
        for client in self._clients.values():
            client.close()


def result_of(running: Coroutine[Any, Any, R]) -> R:
    """What a coroutine returns that only asks over a BlockingLink: it never suspends."""
    try:
        running.send(None)
    except StopIteration as end:
        result: R = end.value
        return result
    running.close()
    raise RuntimeError(f"{running} waited for something other than a server")
