"""POP_MESSAGE (200050): messages of a group's queues, hidden from others until their time is up."""

from functools import partial

import trio

from trimq.broker.pop.popping import LookedAt, Popping
from trimq.broker.pop.reading.result import PopResult
from trimq.broker.produce.puts.receive_end import write_receive
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast_pop import PopHeader, decode_pop, encode_pop_response
from trimq.codec.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

_FOUND = "FOUND"
_NOTHING = "NO_MESSAGE_IN_QUEUE"
Asked = Request[PopHeader]


class PopMessage(Processor[PopHeader]):
    codes = (RequestCode.POP_MESSAGE,)
    shows_no_fields = True
    joins_rounds = True
    header = PopMessageRequestHeader

    def __init__(self, popping: Popping, store: MessageStore, config: StoreConfig) -> None:
        self._popping = popping
        self._store = store
        self._config = config

    def decode_header(self, ext_fields: dict[str, str]) -> PopHeader:
        return decode_pop(ext_fields)

    def handle(self, request: Asked) -> Response | Later:
        popping, header = self._popping, request.header
        try:
            wanted = popping.check(header, request.peer)
        except RemotingError as error:
            return _refusal(error)
        if wanted.unread is not None:
            return Later(request, partial(self._read_first, wanted.unread), keeps_body=False)
        pop = popping.begin(header, request.peer, wanted)
        cold = popping.look(pop)
        if pop.count:
            return self._answer(pop, ResponseCode.SUCCESS)
        return Later(request, partial(self._finish, pop, cold), keeps_body=False)

    async def _read_first(self, text: str, request: Asked) -> Response:
        popping, header = self._popping, request.header
        await popping.expressions.read([text], request.peer)
        try:
            wanted = popping.check(header, request.peer)
        except RemotingError as error:
            return _refusal(error)
        pop = popping.begin(header, request.peer, wanted)
        return await self._finish(pop, popping.look(pop), request)

    async def _finish(self, pop: PopResult, cold: LookedAt | None, request: Asked) -> Response:
        """Its receive has ended: what is staged here is written here."""
        popping = self._popping
        while True:
            while cold is not None:
                cold = popping.look(pop, await popping.warm(cold))
            if pop.count:
                answer = self._answer(pop, ResponseCode.SUCCESS)
                try:
                    write_receive(self._store, self._config)
                except Exception:
                    # Nothing was handed out: it is for the next one.
                    popping.wake_next(pop)
                    raise
                return answer
            code = await popping.wait(pop)
            if code is not None:
                return self._answer(pop, code)
            # One message may wake many of a peer's requests: it has to read what it gets.
            try:
                await request.peer.room()
            except trio.Cancelled:
                # Its client has left: the message is for the next one.
                popping.wake_next(pop)
                raise
            try:
                popping.check(pop.header, pop.peer)
            except RemotingError as error:
                # Its topic or group may be gone. That it comes late is no reason: it was held here.
                if error.code != ResponseCode.POLLING_TIMEOUT:
                    return _refusal(error)
            pop = popping.begin(pop.header, pop.peer, pop.wanted)
            cold = popping.look(pop)

    def _answer(self, pop: PopResult, code: ResponseCode) -> Response:
        found = code is ResponseCode.SUCCESS
        header, places = pop.header, pop.places
        fields = encode_pop_response(
            pop.pop_time,
            header.invisible_time,
            pop.revive_queue,
            pop.rest,
            places.start_offset_info,
            places.msg_offset_info,
            places.order_count_info if header.order else None,
        )
        if found and pop.rest > 0:
            self._popping.wake_next(pop)
        response = Response(code, _FOUND if found else _NOTHING, None, fields, pop.bodies)
        if found:
            # Nothing is written for an orderly one.
            response.staged = not header.order
            response.durable_at = pop.durable_at
            # The checkpoint is stored and will be read: the real broker hands the messages out.
            response.durable_timeout_code = ResponseCode.SUCCESS
        return response


def _refusal(error: RemotingError) -> Response:
    """The original answers a refusal with the header of an answer, in which nothing is filled in."""
    empty = PopMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0, rest_num=0)
    return Response(error.code, error.remark, empty)
