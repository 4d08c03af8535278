"""Questions about single queues: one each, all under way at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from trimq.admin.errors import Refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.offsets import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)
from trimq.spark.options.positions import Offsets, QueueKey
from trimq.spark.planning.server_requests import Question, ServerRequests, answered
from trimq.spark.queues import QueueEnds


def search(
    server_requests: ServerRequests,
    times: Mapping[QueueKey, int],
    bounds: Mapping[QueueKey, QueueEnds],
) -> Offsets:
    """The first message of each queue stored at or after its time, as brokers report it.

    Times are milliseconds since 1970. TransportError when a broker does not answer.
    """

    def header(key: QueueKey) -> Header:
        return SearchOffsetRequestHeader(topic=key[0], queue_id=key[2], timestamp=times[key])

    code = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    replies = _replies(server_requests, code, header, times, bounds)
    return {
        key: decode_header(SearchOffsetResponseHeader, fields).offset
        for key, fields in replies.items()
    }


def ends(
    server_requests: ServerRequests, keys: Iterable[QueueKey], bounds: Mapping[QueueKey, QueueEnds]
) -> Offsets:
    """The offset that the next message of each queue would get now. TransportError as above."""

    def header(key: QueueKey) -> Header:
        return GetMaxOffsetRequestHeader(topic=key[0], queue_id=key[2])

    replies = _replies(server_requests, RequestCode.GET_MAX_OFFSET, header, keys, bounds)
    return {
        key: decode_header(GetMaxOffsetResponseHeader, fields).offset
        for key, fields in replies.items()
    }


def _replies(
    server_requests: ServerRequests,
    code: RequestCode,
    header: Callable[[QueueKey], Header],
    keys: Iterable[QueueKey],
    bounds: Mapping[QueueKey, QueueEnds],
) -> dict[QueueKey, dict[str, str]]:
    by_addr: dict[str, list[QueueKey]] = defaultdict(list)
    for key in keys:
        by_addr[bounds[key].addr].append(key)
    questions = {
        addr: [Question(code, header(key)) for key in some] for addr, some in by_addr.items()
    }
    found: dict[QueueKey, dict[str, str]] = {}
    for addr, answers in server_requests.ask_all(questions).items():
        for key, answer in zip(by_addr[addr], answered(answers), strict=True):
            if answer.code != ResponseCode.SUCCESS:
                raise Refused(addr, code, answer.code, answer.remark)
            found[key] = answer.ext_fields or {}
    return found
