"""What is asked of a broker for a ReceiveMessage."""

from __future__ import annotations

from typing import Final

from trimq.base.clock import Clock
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.headers.pop import PopMessageRequestHeader
from trimq.proxy.filters import Filter
from trimq.proxy.popping import MOST_A_POP
from trimq.proxy.protos.service_pb2 import ReceiveMessageRequest
from trimq.proxy.routes import Queue

# ConsumeInitMode.MAX: a new group begins with what comes from now on.
_FROM_NOW_ON: Final = 1


def pop_request(
    request: ReceiveMessageRequest,
    queue: Queue,
    wanted: Filter,
    is_ordered: bool,
    times: tuple[int, int],
) -> PopMessageRequestHeader:
    """Of POP_MESSAGE; the broker says when it was born, so clocks need not agree."""
    poll, invisible = times
    return PopMessageRequestHeader(
        consumer_group=request.group.name,
        topic=request.message_queue.topic.name,
        queue_id=queue.queue_id,
        max_msg_nums=min(request.batch_size, MOST_A_POP),
        invisible_time=invisible,
        poll_time=poll,
        init_mode=_FROM_NOW_ON,
        exp_type=wanted.kind,
        exp=wanted.expression,
        order=is_ordered,
        attempt_id=_attempt(request),
    )


def lite_request(
    request: ReceiveMessageRequest, client_id: str, times: tuple[int, int], clock: Clock
) -> PopLiteMessageRequestHeader:
    """Of POP_LITE_MESSAGE."""
    poll, invisible = times
    return PopLiteMessageRequestHeader(
        client_id=client_id,
        consumer_group=request.group.name,
        topic=request.message_queue.topic.name,
        max_msg_num=min(request.batch_size, MOST_A_POP),
        invisible_time=invisible,
        poll_time=poll,
        born_time=clock.millis(),
        attempt_id=_attempt(request),
    )


def _attempt(request: ReceiveMessageRequest) -> str | None:
    return request.attempt_id if request.HasField("attempt_id") else None
