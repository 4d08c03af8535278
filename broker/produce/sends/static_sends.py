"""Sends to static topics' queues: into the last part, if it is here; answered in the queue's own
numbers.

TopicQueueMappingManager.rewriteRequestForStaticTopic, SendMessageProcessor.rewriteResponseForStaticTopic.
"""

from trimq.broker.produce.puts.outcomes import Refused, Sent
from trimq.broker.topics.static_queues import StaticQueue
from trimq.codec.bodies.static_topics import TopicQueueMappingDetail
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.fast import SendHeader


def lead_to_part(detail: TopicQueueMappingDetail, header: SendHeader) -> StaticQueue | Refused:
    """The queue that is meant, and the header changed to its part's; refused when it is written to elsewhere."""
    topic = header.topic
    queue = StaticQueue(topic, _number(detail, header), detail)
    if not queue.leads:
        return Refused(
            ResponseCode.NOT_LEADER_FOR_QUEUE,
            f"{topic}-{header.queue_id} does not exit in request process of current broker"
            f" {queue.broker_name}",
            True,
        )
    header.queue_id = queue.parts[-1].queue_id
    return queue


def tell_global(queue: StaticQueue, outcome: Sent | Refused) -> Sent | Refused:
    """What was sent, with the queue's number and offset; refusals stay as they are."""
    if isinstance(outcome, Sent):
        outcome.queue_id = queue.number or 0
        # -1 in the moment before the part's start is decided.
        outcome.queue_offset = queue.parts[-1].to_global_within(outcome.queue_offset)
    return outcome


def _number(detail: TopicQueueMappingDetail, header: SendHeader) -> int:
    """A client may leave the choice to the broker: -1 means the first queue known here."""
    if header.queue_id >= 0 or not detail.hosted_queues:
        return header.queue_id
    return min(detail.hosted_queues)
