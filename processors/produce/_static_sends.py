"""Sends to static topics' queues: into the last part, if it lies here; told by the queue's own numbers.

TopicQueueMappingManager.rewriteRequestForStaticTopic, SendMessageProcessor.rewriteResponseForStaticTopic.
"""

from trimq.broker.static_queues import StaticQueue, StaticQueues
from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader
from trimq.remoting.contract import Request, Response

_ID, _OFFSET = "queueId", "queueOffset"


def static_queue(static: StaticQueues, request: Request[SendHeader]) -> StaticQueue | None:
    """The queue that is meant, and the header changed to its part's; None for a broker's own queue.

    RemotingError (NOT_LEADER_FOR_QUEUE) when the queue is written elsewhere.
    """
    header = request.header
    # The short names of the other two codes have none for `lo`.
    ext_fields = request.ext_fields if request.code == RequestCode.SEND_MESSAGE else {}
    queue = static.find(header.topic, _number(static, header), ext_fields)
    if queue is None:
        return None
    if not queue.leads:
        raise queue.not_leader(
            f"{header.topic}-{header.queue_id} does not exit in request process of current broker"
            f" {queue.broker_name}"
        )
    header.queue_id = queue.parts[-1].queue_id
    return queue


def tell_global(queue: StaticQueue, response: Response) -> Response:
    """A reply to a stored message with the queue's number and offset; refusals stay as they are."""
    fields = response.ext_fields
    if fields is not None and _OFFSET in fields:
        fields[_ID] = str(queue.number)
        # -1 in the moment before the part's begin is decided.
        fields[_OFFSET] = str(queue.parts[-1].to_global_within(int(fields[_OFFSET])))
    return response


def _number(static: StaticQueues, header: SendHeader) -> int:
    """A client may leave the choice to the broker: -1 means the first queue that is known here."""
    detail = static.by_topic.get(header.topic)
    if header.queue_id >= 0 or detail is None or not detail.hosted_queues:
        return header.queue_id
    return min(detail.hosted_queues)
