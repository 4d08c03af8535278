"""What operations need from a client: something that asks a server and says what time it is."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, Protocol

from trimq.admin.connecting.older import Peers
from trimq.admin.errors import Refused
from trimq.codec.codes import AnyRequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.errors import RemotingTimeout, TransportError

SUCCESS: Final = (ResponseCode.SUCCESS,)


class Link(Protocol):
    """Connections to servers, made when first needed."""

    @property
    def name_servers(self) -> Sequence[str]:
        """HOST:PORT of each NameServer, at least one."""

    async def ask(
        self, addr: str, code: AnyRequestCode, header: Header | None, body: bytes, factor: float
    ) -> RemotingCommand:
        """The answer, whatever its code; waits `factor` times the client's time-out.

        TransportError when there is none.
        """

    def now(self) -> int:
        """Wall-clock milliseconds."""

    @property
    def peers(self) -> Peers:
        """What is known of the servers."""


async def ask(
    link: Link,
    addr: str,
    code: AnyRequestCode,
    header: Header | None = None,
    body: bytes = b"",
    *,
    factor: float = 1,
    accepted: Sequence[int] = SUCCESS,
) -> RemotingCommand:
    """The answer if its code is among the accepted ones, otherwise Refused.

    Refused with REQUEST_CODE_NOT_SUPPORTED, too, by an old server that says nothing to what it does not know.
    """
    peers = link.peers
    first = peers.first_question(addr, code)
    if first is not None:
        peers.answered(addr, (await link.ask(addr, first, None, b"", 1)).version)
    if peers.is_unknown(addr, code):
        raise Refused(addr, code, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, None)
    try:
        answer = await link.ask(addr, code, header, body, factor)
    except RemotingTimeout:
        if not peers.silent(addr, code):
            raise
        raise Refused(addr, code, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, None) from None
    peers.answered(addr, answer.version)
    if answer.code not in accepted:
        raise Refused(addr, code, answer.code, answer.remark)
    return answer


def is_unknown(refused: Refused) -> bool:
    """Whether the server does not know the request: an older one, or not TriMQ."""
    return refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def ask_any(
    link: Link,
    addrs: Sequence[str],
    code: AnyRequestCode,
    header: Header | None = None,
    body: bytes = b"",
    *,
    factor: float = 1,
    accepted: Sequence[int] = SUCCESS,
) -> tuple[str, RemotingCommand]:
    """The first server that can be reached, and what it says; the last one's TransportError if none."""
    *others, last = addrs
    for addr in others:
        try:
            return addr, await ask(link, addr, code, header, body, factor=factor, accepted=accepted)
        except TransportError:
            continue
    return last, await ask(link, last, code, header, body, factor=factor, accepted=accepted)


async def ask_name_server(
    link: Link, code: AnyRequestCode, header: Header | None = None, body: bytes = b""
) -> RemotingCommand:
    """What the first NameServer says that can be reached; the last one's TransportError if none."""
    _, answer = await ask_any(link, link.name_servers, code, header, body)
    return answer


async def ask_name_servers(
    link: Link, code: AnyRequestCode, header: Header | None = None, body: bytes = b""
) -> AsyncIterator[tuple[str, RemotingCommand]]:
    """(address, answer) of every NameServer; ends with the first one that fails or refuses."""
    for addr in link.name_servers:
        yield addr, await ask(link, addr, code, header, body)
