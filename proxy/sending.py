"""Which queue a message goes to, and what happens when its broker is away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.java.hashes import string_hash
from trimq.proxy.checks import is_blank
from trimq.proxy.guava import consistent_hash
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import SendMessageRequest
from trimq.proxy.routes import Queue, Route
from trimq.proxy.statuses import inner_error
from trimq.remoting.errors import RemotingConnectError

_SECONDS: Final = 2.0
Asked = tuple[RequestCode, SendMessageRequestHeaderV2, bytes]


def key_of(request: SendMessageRequest) -> str:
    """The message group, or the lite topic, of a single message; empty: any queue will do."""
    if len(request.messages) != 1:
        return ""
    system = request.messages[0].system_properties
    return system.lite_topic if is_blank(system.message_group) else system.message_group


def choose_queue(route: Route, key: str, is_away: Callable[[str], bool]) -> Queue | None:
    """By the key, as every proxy beside this one does; without one all in turn.

    Those whose brokers are away have no turn while others are there.
    """
    if key and route.writable:
        return route.writable[consistent_hash(string_hash(key), len(route.writable))]
    return route.next_writable(is_away)


class Sending:
    def __init__(self, links: Links) -> None:
        self._links = links

    async def send(self, route: Route, key: str, asked: Asked) -> tuple[RemotingCommand, Queue]:
        """The answer, and where it is from. What a broker certainly did not get goes to another one."""
        code, header, body = asked
        tried: set[str] = set()
        queue = choose_queue(route, key, self._links.is_away)
        if queue is None:
            raise inner_error(Code.FORBIDDEN, "no writable queue")
        while True:
            header.queue_id = queue.queue_id
            try:
                return await self._links.ask(queue.addr, code, header, body, _SECONDS), queue
            except RemotingConnectError:
                tried.add(queue.addr)
                other = choose_queue(route, key, tried.__contains__)
                if other is None or other.addr in tried:
                    raise
                queue = other
