"""POP_LITE_MESSAGE (200070): messages of the lite topics that a client reads, hidden until their time is up."""

from functools import partial

import trio

from trimq.broker.lite.checks import LiteChecks
from trimq.broker.lite.popping import ColdLite, LitePop, LitePopping
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import PopLiteMessageRequestHeader, PopLiteMessageResponseHeader
from trimq.codec.pop.handle import ORDERLY
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response

_FOUND = "FOUND"
_NOTHING = "NO_MESSAGE_IN_QUEUE"
Asked = Request[PopLiteMessageRequestHeader]


class PopLiteMessage(Processor[PopLiteMessageRequestHeader]):
    codes = (RequestCode.POP_LITE_MESSAGE,)
    shows_no_fields = True
    header = PopLiteMessageRequestHeader

    def __init__(self, checks: LiteChecks, popping: LitePopping) -> None:
        self._checks = checks
        self._popping = popping

    def handle(self, request: Asked) -> Response | Later:
        try:
            now = self._checks.check(request.header, request.peer)
        except RemotingError as error:
            return _refusal(error)
        pop = LitePop(request.header, now)
        cold = self._popping.look(pop, request.peer)
        if cold is None and pop.count:
            return _answer(pop, ResponseCode.SUCCESS)
        return Later(request, partial(self._finish, pop, cold), keeps_body=False)

    async def _finish(self, pop: LitePop, cold: ColdLite | None, request: Asked) -> Response:
        popping = self._popping
        while True:
            while cold is not None:
                await popping.warm(pop, cold)
                cold = popping.look(pop, request.peer)
            if pop.count:
                return _answer(pop, ResponseCode.SUCCESS)
            code = await popping.wait(pop)
            if code is not None:
                return _answer(pop, code)
            try:
                await request.peer.room()
            except trio.Cancelled:
                # Its client's notes are for another request of it, or for others later.
                popping.wake(pop.header.client_id)
                raise
            try:
                now = self._checks.check(pop.header, request.peer)
            except RemotingError as error:
                # That it comes late is no reason: it was held here.
                if error.code != ResponseCode.POLLING_TIMEOUT:
                    return _refusal(error)
                now = self._checks.clock.millis()
            pop = LitePop(pop.header, now)
            cold = popping.look(pop, request.peer)


def _answer(pop: LitePop, code: ResponseCode) -> Response:
    header = PopLiteMessageResponseHeader(
        pop_time=pop.pop_time,
        invisible_time=pop.header.invisible_time,
        revive_qid=ORDERLY,
        order_count_info=";".join(pop.counts),
    )
    remark = _FOUND if code is ResponseCode.SUCCESS else _NOTHING
    return Response(code, remark, header, body=pop.bodies)


def _refusal(error: RemotingError) -> Response:
    """The original answers a refusal with the header of an answer, in which nothing is filled in."""
    empty = PopLiteMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
    return Response(error.code, error.remark, empty)
