"""A client that no broker notices: a limited number of requests a second to each server."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.connecting.blocking_link import BlockingLink, result_of
from trimq.admin.connecting.link import ask
from trimq.admin.connecting.signing import AccessKeys
from trimq.codec.codes import AnyRequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header


class Pace:
    """At most `rate` requests a second to each address, evenly spread. Threads may share one."""

    def __init__(
        self,
        rate: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = 1 / rate
        self._now = now
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free: dict[str, float] = {}

    def wait(self, addr: str) -> None:
        """Return when the next request to that address may leave."""
        with self._lock:
            now = self._now()
            at = max(now, self._free.get(addr, now))
            self._free[addr] = at + self._gap
        if at > now:
            self._sleep(at - now)


class PacedLink(BlockingLink):
    """Waits before each request; see `admin.link.Link`."""

    def __init__(
        self,
        name_servers: str,
        timeout: float,
        keys: AccessKeys | None,
        pace: Pace,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(name_server_list(name_servers), timeout, tls, keys)
        self._pace = pace

    async def ask(
        self, addr: str, code: AnyRequestCode, header: Header | None, body: bytes, factor: float
    ) -> RemotingCommand:
        self._pace.wait(addr)
        return await super().ask(addr, code, header, body, factor)


class PacedAdmin(BlockingAdminClient):
    """The administration client for one thread, over such a link."""

    def __init__(self, link: PacedLink) -> None:
        self.link = link

    def body(
        self, addr: str, code: AnyRequestCode, header: Header | None, factor: float = 1
    ) -> bytes:
        """The body of a successful answer; Refused, TransportError."""
        return result_of(ask(self.link, addr, code, header, factor=factor)).body
