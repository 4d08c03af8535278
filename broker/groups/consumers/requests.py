"""Questions to one client: an operator's to a consumer (AdminBrokerProcessor.callConsumer), or the broker's own."""

import logging
from typing import Final

import trio

from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.java.texts import java_text
from trimq.remoting.contract import Peer, PeerGone, RemotingError

log = logging.getLogger("trimq.admin")

# Broker2Client.callClient.
_PATIENCE_SECONDS: Final = 10


async def ask_client(
    peer: Peer, code: RequestCode, header: Header, body: bytes = b""
) -> RemotingCommand:
    """The client's answer; trio.TooSlowError after 10 s without one, PeerGone when it leaves."""
    return await peer.ask(code, header, body, timeout=_PATIENCE_SECONDS)


async def ask_consumer(
    consumers: Consumers,
    code: RequestCode,
    header: Header,
    who: tuple[str | None, str | None],
    body: bytes = b"",
    proxies: BehindProxies | None = None,
) -> RemotingCommand:
    """The client's answer, unchanged; `who` is a group and a client id, which may be behind a proxy.

    RemotingError: SYSTEM_ERROR when it is not online or leaves, CONSUME_MSG_TIMEOUT after 10 s.
    """
    group, client_id = who
    peer: Peer | None = None
    if group is not None and client_id is not None:
        client = consumers.find_client(group, client_id)
        peer = None if client is None else client.peer
        if peer is None and proxies is not None:
            peer = proxies.find(group, client_id)
    if peer is None:
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{java_text(group)}> <{java_text(client_id)}> not online",
        )
    try:
        return await ask_client(peer, code, header, body)
    except trio.TooSlowError:
        log.warning("consumer does not answer: code=%s group=%s client=%s", code, group, client)
        raise RemotingError(
            ResponseCode.CONSUME_MSG_TIMEOUT,
            f"consumer <{group}> <{client_id}> Timeout: no answer within {_PATIENCE_SECONDS} s",
        ) from None
    except PeerGone as error:
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR, f"invoke consumer <{group}> <{client_id}> Exception: {error}"
        ) from None
