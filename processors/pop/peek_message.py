"""PEEK_MESSAGE (200052): the next messages of a group, which stay where they are."""

import random
from functools import partial

from trimq.broker.pop.peek import Peek, PeekResult
from trimq.broker.pop.reading.checks import PopChecks
from trimq.broker.pop.reading.selection import DRAWN_FROM
from trimq.broker.records import load_cold
from trimq.broker.stats.traffic import Traffic
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import PeekMessageRequestHeader, PopMessageResponseHeader
from trimq.processors._peek_checks import check_peek
from trimq.remoting.contract import Body, Later, Processor, RemotingError, Request, Response
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore

Asked = Request[PeekMessageRequestHeader]


class PeekMessage(Processor[PeekMessageRequestHeader]):
    codes = (RequestCode.PEEK_MESSAGE,)
    shows_no_fields = True
    header = PeekMessageRequestHeader

    def __init__(
        self, checks: PopChecks, peek: Peek, store: MessageStore, traffic: Traffic
    ) -> None:
        self._checks = checks
        self._peek = peek
        self._store = store
        self._traffic = traffic

    def handle(self, request: Asked) -> Response | Later:
        header, checks = request.header, self._checks
        try:
            check_peek(checks, header, request.peer)
        except RemotingError as error:
            # The original answers a refusal with the header, too.
            return Response(error.code, error.remark, _header(0))
        if header.max_msg_nums < 0:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "maxMsgNums is below 0")
        # Nobody has to be unable to guess it.
        found = self._peek.peek(header, random.randrange(DRAWN_FROM))
        if not found.messages:
            code = ResponseCode.PULL_NOT_FOUND
            return Response(code, "NO_MESSAGE_IN_QUEUE", _header(found.rest))
        size = sum(length for _, length in found.extents)
        self._traffic.handed_out(header.consumer_group, header.topic, found.messages, size)
        body = self._store.load(found.extents)
        if body is None:
            return Later(request, partial(self._from_disk, found), keeps_body=False)
        return _answer(found, body)

    async def _from_disk(self, found: PeekResult, _: Asked) -> Response:
        try:
            return _answer(found, await load_cold(self._store, found.extents))
        except MessagesGone:
            code = ResponseCode.PULL_NOT_FOUND
            return Response(code, "NO_MESSAGE_IN_QUEUE", _header(found.rest))
        except StoreError as failure:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"reading the messages failed: {failure}"
            ) from None


def _answer(found: PeekResult, body: Body) -> Response:
    return Response(ResponseCode.SUCCESS, "FOUND", _header(found.rest), body=body)


def _header(rest: int) -> PopMessageResponseHeader:
    return PopMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0, rest_num=rest)
