"""From a command to its processor, and from its outcome to a response.

The one place that catches everything a processor raises. Java: NettyRemotingAbstract.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, Final

from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError, HeaderRefused, HeaderTooLarge
from trimq.codec.frames.command import RemotingCommand
from trimq.remoting.contract import Processor
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.errors import FeatureMissing, LimitReached, RemotingError
from trimq.remoting.exchange import Later, Request, Response
from trimq.remoting.held_replies import HeldReplies
from trimq.remoting.peer import Peer
from trimq.remoting.serving.request_log import RequestLog, request_name

log = logging.getLogger("trimq.remoting")

AnyProcessor = Processor[Any]
Handle = Callable[[Request[Any]], Response | Later]
EndOfReceive = Callable[[], None]

_SYSTEM_ERROR: Final = int(ResponseCode.SYSTEM_ERROR)
_NOT_SUPPORTED: Final = int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


class Route:
    """One row of the table: a processor with its methods bound, to save look-ups."""

    __slots__ = ("decode", "handle", "joins", "shows_no_fields")

    def __init__(self, processor: AnyProcessor) -> None:
        self.decode: Callable[[dict[str, str]], Any] = processor.decode_header
        self.handle: Callable[[Request[Any]], Response | Later] = processor.handle
        self.joins: bool = processor.joins_rounds
        self.shows_no_fields: bool = processor.shows_no_fields


def _nothing() -> None:
    return None


class Dispatcher:
    """The table of request codes.

    `end_of_receive` runs once after the frames of one receive were handled and before their replies
    leave; `held_replies` may make them wait. `on_request(request code, response code)` is called for
    every answered request, `request_log` of each when it wants to know.
    """

    __slots__ = (
        "_end_of_receive",
        "_on_request",
        "_routes",
        "_watched",
        "apart",
        "counters",
        "held_replies",
        "request_log",
    )

    def __init__(
        self,
        processors: Sequence[AnyProcessor],
        end_of_receive: Callable[[], None] = _nothing,
        on_request: Callable[[int, int], None] | None = None,
        counters: RemotingCounters | None = None,
        held_replies: HeldReplies | None = None,
        request_log: RequestLog | None = None,
    ) -> None:
        self._routes: dict[int, Route] = {}
        for processor in processors:
            route = Route(processor)
            for code in processor.codes:
                if int(code) in self._routes:
                    raise ValueError(f"two processors for request code {int(code)}")
                self._routes[int(code)] = route
        self._end_of_receive = end_of_receive
        self._on_request = on_request
        # Whether the log wants every request: looked up once a receive.
        self._watched: bool = False
        # Requests of this receive that come less often than messages, and may cost more.
        self.apart: int = 0
        self.request_log: RequestLog = RequestLog() if request_log is None else request_log
        self.held_replies = held_replies
        self.counters: RemotingCounters = RemotingCounters() if counters is None else counters

    @property
    def codes(self) -> frozenset[int]:
        """Every request code that has a processor."""
        return frozenset(self._routes)

    def put_before(
        self,
        around: Callable[[Handle], Handle],
        around_end: Callable[[EndOfReceive], EndOfReceive],
    ) -> None:
        """From now on every request goes through what `around` makes of its processor, for a test that wants faults.

        `around_end` does the same for the end of a receive.
        """
        for route in dict.fromkeys(self._routes.values()):
            route.handle = around(route.handle)
        self._end_of_receive = around_end(self._end_of_receive)

    def joins_rounds(self, code: int) -> bool:
        """Whether such a request may be decided while records of other connections are staged."""
        route = self._routes.get(code)
        return route is not None and route.joins

    def begin_receive(self) -> None:
        """Call before the requests of one receive."""
        self._watched = self.request_log.on
        self.apart = 0

    def begin(self, command: RemotingCommand, peer: Peer) -> Response | Later:
        """The response, or what to pass to `finish` in a task."""
        if not self._watched:
            return self._begin(command, peer)
        began = perf_counter_ns()
        outcome = self._begin(command, peer)
        if isinstance(outcome, Response):
            nanos = perf_counter_ns() - began
            self.request_log.answered(command.code, command.ext_fields, peer, outcome, nanos)
        return outcome

    def _begin(self, command: RemotingCommand, peer: Peer) -> Response | Later:
        code = command.code
        route = self._routes.get(code)
        if route is None:
            return self._unsupported(code, peer)
        if not route.joins:
            self.apart += 1
        try:
            request: Request[Any] = Request(
                code,
                route.decode(command.ext_fields),
                peer,
                command.body,
                command.version,
                command.language,
                command.ext_fields,
                command.is_oneway,
                command.opaque,
            )
            outcome = route.handle(request)
            if isinstance(outcome, Response):
                response = outcome
                if route.shows_no_fields:
                    _show_no_fields(response)
            else:
                if not outcome.keeps_body:
                    request.body = b""
                return outcome
        except Exception as error:
            response = self._failed(code, peer, error)
        if self._on_request is not None:
            self._on_request(code, response.code)
        return response

    async def finish(self, later: Later) -> Response:
        """Answer a request that had to wait."""
        request = later.request
        began = perf_counter_ns()
        try:
            response = await later.answer(request)
            route = self._routes.get(request.code)
            if route is not None and route.shows_no_fields:
                _show_no_fields(response)
        except Exception as error:
            response = self._failed(request.code, request.peer, error)
        if self._on_request is not None:
            self._on_request(request.code, response.code)
        if self.request_log.on:
            nanos = perf_counter_ns() - began
            self.request_log.answered(
                request.code, request.ext_fields, request.peer, response, nanos
            )
        return response

    def end_receive(self) -> Response | None:
        """Run the hook; what it raises becomes the response of every staged reply."""
        try:
            self._end_of_receive()
        except RemotingError as error:
            self.counters.errors += 1
            return Response(error.code, error.remark)
        except Exception as error:
            self.counters.errors += 1
            log.exception("writing what one receive staged failed")
            return Response(_SYSTEM_ERROR, _describe(error))
        return None

    def unencodable(self, response: Response, error: Exception) -> Response:
        """In place of a response that does not fit a frame."""
        self.counters.errors += 1
        log.error("response does not fit a frame code=%d", response.code, exc_info=error)
        return Response(_SYSTEM_ERROR, _describe(error))

    def refuse_header(self, error: HeaderRefused, peer: Peer) -> Response:
        """Instead of handling a request whose header was not read."""
        if isinstance(error, HeaderTooLarge):
            self.counters.limits["header"] += 1
        else:
            self.counters.protocol_errors += 1
        self.request_log.unread(error, peer)
        return Response(_SYSTEM_ERROR, str(error))

    def _failed(self, code: int, peer: Peer, error: Exception) -> Response:
        if isinstance(error, RemotingError):
            if isinstance(error, LimitReached):
                self.counters.limits[error.limit] += 1
            elif isinstance(error, FeatureMissing):
                self.request_log.missing(error.reason, code, peer)
            response = Response(error.code, error.remark)
            route = self._routes.get(code)
            if route is not None and route.shows_no_fields:
                _show_no_fields(response)
            return response
        self.counters.errors += 1
        if isinstance(error, CodecError):
            log.warning(
                "request not understood: request=%s code=%d peer=%s reason=%s",
                request_name(code),
                code,
                peer.remote_addr,
                error,
            )
            return Response(_SYSTEM_ERROR, str(error))
        log.error(
            "request failed: request=%s code=%d peer=%s",
            request_name(code),
            code,
            peer.remote_addr,
            exc_info=error,
        )
        return Response(_SYSTEM_ERROR, _describe(error))

    def _unsupported(self, code: int, peer: Peer) -> Response:
        self.counters.errors += 1
        remark = f" request type {code} not supported"
        self.request_log.unanswered(code, peer)
        return Response(_NOT_SUPPORTED, remark)


def _show_no_fields(response: Response) -> None:
    if response.header is None and response.ext_fields is None:
        response.ext_fields = {}


def _describe(error: Exception) -> str:
    """Type and text, as Java's Throwable.toString gives them."""
    return f"{type(error).__name__}: {error}"
