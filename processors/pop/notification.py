"""NOTIFICATION (200054): whether there is something to pop, or as soon as there is."""

import random
from functools import partial

from trimq.base.clock import Clock
from trimq.base.waits import Waited
from trimq.broker.lite.notification import LiteNotification
from trimq.broker.pop.peek import Peek
from trimq.broker.pop.reading.checks import PopChecks, Wanted
from trimq.broker.pop.reading.long_polling import PopLongPolling, time_left, use_up
from trimq.broker.pop.reading.selection import DRAWN_FROM
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import NotificationRequestHeader, NotificationResponseHeader
from trimq.codec.names import REMARK_LEFT
from trimq.processors._peek_checks import check_peek
from trimq.remoting.contract import Later, Peer, Processor, RemotingError, Request, Response

Asked = Request[NotificationRequestHeader]


class Notification(Processor[NotificationRequestHeader]):
    codes = (RequestCode.NOTIFICATION,)
    shows_no_fields = True
    header = NotificationRequestHeader

    def __init__(
        self,
        checks: PopChecks,
        peek: Peek,
        waits: PopLongPolling,
        lite: LiteNotification,
        clock: Clock,
    ) -> None:
        self._checks = checks
        self._peek = peek
        self._waits = waits
        self._lite = lite
        self._clock = clock

    def handle(self, request: Asked) -> Response | Later:
        header = request.header
        if header.born_time == 0:
            header.born_time = self._clock.millis()
        try:
            wanted = self._check(header, request.peer)
        except RemotingError as error:
            # The original answers a refusal with the header, too.
            return _refused(error)
        if wanted.unread is not None:
            return Later(request, partial(self._read_first, wanted.unread), keeps_body=False)
        if self._has_message(header, wanted):
            return _answer(True)
        if header.poll_time <= 0 or self._left(header) <= 0:
            return _answer(False)
        return Later(request, partial(self._wait, wanted), keeps_body=False)

    async def _read_first(self, text: str, request: Asked) -> Response:
        await self._checks.expressions.read([text], request.peer)
        try:
            wanted = self._check(request.header, request.peer)
        except RemotingError as error:
            return _refused(error)
        return await self._wait(wanted, request)

    async def _wait(self, wanted: Wanted, request: Asked) -> Response:
        header = request.header
        while not self._has_message(header, wanted):
            left = self._left(header)
            if header.poll_time <= 0 or left <= 0:
                return _answer(False)
            waited = await self._next(header, wanted, left / 1000)
            if waited is Waited.FULL:
                return _answer(False, full=True)
            if waited is Waited.TIME_OUT:
                use_up(header, self._clock)
            try:
                # Its topic or group may be gone.
                self._check(header, request.peer)
            except RemotingError as error:
                return _refused(error)
        return _answer(True)

    async def _next(
        self, header: NotificationRequestHeader, wanted: Wanted, seconds: float
    ) -> Waited:
        if header.is_lite_consumer:
            return await self._lite.wait(header.client_id, seconds)
        key = header.topic, header.consumer_group, header.queue_id
        return await self._waits.wait(key, seconds, wanted.codes, wanted.filter)

    def _check(self, header: NotificationRequestHeader, peer: Peer) -> Wanted:
        checks = self._checks
        check_peek(checks, header, peer)
        group, topic = header.consumer_group, header.topic
        return checks.looked_for(group, topic, header.exp_type, header.exp)

    def _has_message(self, header: NotificationRequestHeader, wanted: Wanted) -> bool:
        if header.is_lite_consumer:
            # Lite topics have no retry topic.
            return self._lite.has_any(header.client_id)
        # Nobody has to be unable to guess it.
        return self._peek.has_message(header, wanted, random.randrange(DRAWN_FROM))

    def _left(self, header: NotificationRequestHeader) -> int:
        """Milliseconds until it is answered in any case."""
        return time_left(header, self._clock)


def _answer(has_message: bool, full: bool = False) -> Response:
    header = NotificationResponseHeader(has_msg=has_message, polling_full=full)
    return Response(ResponseCode.SUCCESS, REMARK_LEFT, header)


def _refused(error: RemotingError) -> Response:
    header = NotificationResponseHeader(has_msg=False, polling_full=False)
    return Response(error.code, error.remark, header)
