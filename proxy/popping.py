"""Asks a broker for messages and waits with it; what comes too late for its client goes back at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.lite import PopLiteMessageRequestHeader, PopLiteMessageResponseHeader
from trimq.codec.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from trimq.proxy.acknowledging import Acknowledging, log
from trimq.proxy.incoming import Popped
from trimq.proxy.links import Links
from trimq.proxy.popped import lite_popped_of, popped_of
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.routes import Queue
from trimq.proxy.statuses import BrokerRefused, ProxyError

# ProxyUtils.MAX_MSG_NUMS_FOR_POP_REQUEST.
MOST_A_POP: Final = 32
_NOTHING: Final = frozenset({ResponseCode.POLLING_TIMEOUT, ResponseCode.PULL_NOT_FOUND})

Read = Callable[[RemotingCommand], list[Popped]]


class Popping:
    def __init__(self, links: Links, acknowledging: Acknowledging) -> None:
        self._links = links
        self._acknowledging = acknowledging

    async def pop(
        self, queue: Queue, header: PopMessageRequestHeader, seconds: float
    ) -> list[Popped]:
        """What was found, perhaps none that is wanted; ProxyError MESSAGE_NOT_FOUND when nothing was."""

        def read(answer: RemotingCommand) -> list[Popped]:
            told = decode_header(PopMessageResponseHeader, answer.ext_fields)
            return popped_of(answer.body, told, header.topic, queue.broker_name, header.order)

        return await self._ask(queue, RequestCode.POP_MESSAGE, header, seconds, read)

    async def pop_lite(
        self, queue: Queue, header: PopLiteMessageRequestHeader, seconds: float
    ) -> list[Popped]:
        """The same, of the client's lite topics."""

        def read(answer: RemotingCommand) -> list[Popped]:
            told = decode_header(PopLiteMessageResponseHeader, answer.ext_fields)
            return lite_popped_of(answer.body, told, header.topic, queue.broker_name)

        return await self._ask(queue, RequestCode.POP_LITE_MESSAGE, header, seconds, read)

    async def _ask(
        self,
        queue: Queue,
        code: RequestCode,
        header: PopMessageRequestHeader | PopLiteMessageRequestHeader,
        seconds: float,
        read: Read,
    ) -> list[Popped]:
        def late(answer: RemotingCommand) -> None:
            """Whoever asked has gone, or waited no longer."""
            if answer.code != ResponseCode.SUCCESS:
                return
            try:
                popped = read(answer)
            except CodecError as error:
                log.warning("messages not given back: group=%s reason=%s", group, error)
                return
            self._acknowledging.give_back(popped, group, topic)

        group, topic = header.consumer_group, header.topic
        asked: Header = header
        answer = await self._links.ask(queue.addr, code, asked, timeout=seconds, late=late)
        if answer.code == ResponseCode.SUCCESS:
            return read(answer)
        if answer.code == ResponseCode.POLLING_FULL:
            raise ProxyError(Code.TOO_MANY_REQUESTS, "polling full")
        if answer.code in _NOTHING:
            raise ProxyError(Code.MESSAGE_NOT_FOUND, "no new message")
        raise BrokerRefused(answer)
