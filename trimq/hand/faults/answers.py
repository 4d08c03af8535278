"""What the real broker says when a request fails: its codes, their remarks, and what stands beside them.

A broker that is brought into such a state says the same (tests/trimq/hand/test_real_states.py), and in those states
compat_tests compare it with the original: SYSTEM_BUSY as a slave (replication/test_roles.py); NO_PERMISSION by
brokerPermission, TOPIC_NOT_EXIST and SUBSCRIPTION_GROUP_NOT_EXIST where nothing is created by itself (scenarios
send_errors_readonly, send_errors_autocreate_off, pull_errors); FLUSH_DISK_TIMEOUT with a disk that does not answer
(store/test_flushed.py); FLUSH_SLAVE_TIMEOUT with such a slave (replication/test_sync_master.py). [OVERLOAD] needs more
requests than the original has threads and places for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from trimq.broker.produce.puts.rules import PutRefused, PutStatus, put_answer
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.codec.headers.pull import PullMessageResponseHeader
from trimq.codec.names import NAMESRV_SEE_FAQ, SEE_FAQ
from trimq.hand.faults.requests import POPS, PULLS, SENDS, nearest
from trimq.hand.operation import HandError
from trimq.remoting.contract import RemotingError, Request, Response
from trimq.wiring.context import Context

# The message is stored, and its producer is told what could not be made sure: clients make a SendStatus of it.
DONE: Final = frozenset(
    {
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
# Requests that the original rejects before their turn when it is too busy (rejectRequest); others fail for want of room
# in a queue of threads.
_REJECTED: Final = SENDS | PULLS | {RequestCode.CONSUMER_SEND_MSG_BACK}
_REJECT: Final = "[REJECTREQUEST]system busy, start flow control for a while"
_OVERLOAD: Final = "[OVERLOAD]system busy, start flow control for a while"
# Clients read on from what stands beside these.
_OF_PULLS: Final = frozenset(
    {
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)
# Nobody has looked at a request that is answered so.
_UNSEEN: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.REQUEST_CODE_NOT_SUPPORTED})
_FORBIDDEN_BROKER: Final = "1"
_FIXED: Final = {
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: "parse the consumer's subscription failed",
    ResponseCode.SUBSCRIPTION_NOT_EXIST: f"the consumer's subscription not exist{SEE_FAQ}",
    ResponseCode.SUBSCRIPTION_NOT_LATEST: "the consumer's subscription not latest",
    ResponseCode.FILTER_DATA_NOT_EXIST: (
        "The broker's consumer filter data is not exist!Your expression may be wrong!"
    ),
    ResponseCode.FILTER_DATA_NOT_LATEST: "the consumer's consumer filter data not latest",
    ResponseCode.QUERY_NOT_FOUND: (
        "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
    ),
    ResponseCode.POLLING_TIMEOUT: None,
    ResponseCode.POLLING_FULL: None,
    ResponseCode.PULL_NOT_FOUND: None,
    ResponseCode.PULL_RETRY_IMMEDIATELY: None,
    ResponseCode.PULL_OFFSET_MOVED: None,
    **dict.fromkeys(DONE),
}
_PUTS: Final = {
    ResponseCode.SERVICE_NOT_AVAILABLE: PutStatus.SERVICE_NOT_AVAILABLE,
    ResponseCode.MESSAGE_ILLEGAL: PutStatus.MESSAGE_ILLEGAL,
    ResponseCode.SYSTEM_ERROR: PutStatus.UNKNOWN_ERROR,
}


def response_code(code: str | int) -> int:
    """By name or number. HandError for one that there is not, and for success."""
    by_name = {one.name: int(one) for one in ResponseCode}
    if isinstance(code, str) and not code.lstrip("-").isdigit():
        found = by_name.get(code.upper())
        if found is None:
            near = nearest(code, by_name)
            raise HandError(f"there is no response code {code!r}: {near or ', '.join(by_name)}")
    else:
        found = int(code)
        if found not in by_name.values():
            raise HandError(f"there is no response code {found}: {', '.join(by_name)}")
    if found == ResponseCode.SUCCESS:
        raise HandError("SUCCESS is no failure: say another code, or use faults/lose_answer")
    return found


class Answers(Protocol):
    """In the place of a processor's answer."""

    def is_done(self, request: Request[Any], code: int) -> bool:
        """Whether what is asked for happens, and only its answer says this code."""

    def instead(self, request: Request[Any], code: int, remark: str | None) -> Response:
        """The answer to a request that is not done; `remark` in the place of the original's."""


def told(
    outcome: Response | RemotingError, code: int, remark: str | None
) -> Response | RemotingError:
    """The answer to one that is done: with this code if it went well, and with everything that stands beside it."""
    if isinstance(outcome, Response) and outcome.code == ResponseCode.SUCCESS:
        outcome.code = code
        outcome.remark = remark
    return outcome


class NameServersAnswers:
    """Of a NameServer, where nothing is done that fails."""

    def is_done(self, request: Request[Any], code: int) -> bool:
        return False

    def instead(self, request: Request[Any], code: int, remark: str | None) -> Response:
        return Response(code, self._remark(request, code) if remark is None else remark)

    @staticmethod
    def _remark(request: Request[Any], code: int) -> str:
        if code == ResponseCode.SYSTEM_BUSY:
            return _OVERLOAD
        if code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return f" request type {request.code} not supported"
        topic = getattr(request.header, "topic", None)
        if code == ResponseCode.TOPIC_NOT_EXIST and topic is not None:
            return f"No topic route info in name server for the topic: {topic}{NAMESRV_SEE_FAQ}"
        return _said_by_a_test(code)


class BrokersAnswers:
    def __init__(self, context: Context, told: Callable[[], dict[str, str]]) -> None:
        """`told`: what stands beside every answer to a send that was looked at."""
        self._context = context
        self._told = told

    def is_done(self, request: Request[Any], code: int) -> bool:
        return request.code in SENDS and code in DONE

    def instead(self, request: Request[Any], code: int, remark: str | None) -> Response:
        said = self._remark(request, code) if remark is None else remark
        response = Response(code, said)
        if request.code in PULLS:
            if code in _OF_PULLS:
                response.header = self._beside_pull(request.header)
            elif code == ResponseCode.NO_PERMISSION:
                response.ext_fields = {"forbiddenType": _FORBIDDEN_BROKER}
        elif request.code in SENDS and code not in _UNSEEN:
            response.ext_fields = self._told()
        elif request.code in POPS and (
            code in {ResponseCode.POLLING_FULL, ResponseCode.POLLING_TIMEOUT}
        ):
            response.header = PopMessageResponseHeader(
                pop_time=0, invisible_time=0, revive_qid=0, rest_num=0
            )
        return response

    def _remark(self, request: Request[Any], code: int) -> str | None:
        if code == ResponseCode.SYSTEM_BUSY:
            return _REJECT if request.code in _REJECTED else _OVERLOAD
        if code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return f" request type {request.code} not supported"
        if code in _FIXED:
            return _FIXED[ResponseCode(code)]
        if request.code in SENDS and code in _PUTS:
            store = self._context.store
            refused = PutRefused(_PUTS[ResponseCode(code)], "a test wants it")
            return put_answer(refused, self._context.plan.store, store.disk_use)[1]
        wording = _WORDINGS.get(code)
        if wording is not None:
            said = wording(self, request)
            if said is not None:
                return said
        return _said_by_a_test(code)

    def _no_permission(self, request: Request[Any]) -> str | None:
        for codes, what in (
            (SENDS, "sending message"),
            (PULLS, "pulling message"),
            (POPS, "pop message"),
        ):
            if request.code in codes:
                return f"the broker[{self._context.identity.host}] {what} is forbidden"
        return None

    def _no_topic(self, request: Request[Any]) -> str | None:
        topic = getattr(request.header, "topic", None)
        gap = "" if request.code in SENDS else " "
        return topic and f"topic[{topic}] not exist, apply first please!{gap}{SEE_FAQ}"

    def _no_group(self, request: Request[Any]) -> str | None:
        group = getattr(request.header, "consumer_group", None)
        return group and f"subscription group [{group}] does not exist, {SEE_FAQ}"

    def _beside_pull(self, header: Any) -> PullMessageResponseHeader:
        store, topic, queue = self._context.store, header.topic, header.queue_id
        return PullMessageResponseHeader(
            suggest_which_broker_id=0,
            next_begin_offset=header.queue_offset,
            min_offset=store.min_offset(topic, queue),
            max_offset=store.max_offset(topic, queue),
        )


_WORDINGS: Final[dict[int, Callable[[BrokersAnswers, Request[Any]], str | None]]] = {
    ResponseCode.NO_PERMISSION: BrokersAnswers._no_permission,
    ResponseCode.TOPIC_NOT_EXIST: BrokersAnswers._no_topic,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: BrokersAnswers._no_group,
}


def _said_by_a_test(code: int) -> str:
    return f"{ResponseCode(code).name}: a test wants it"
