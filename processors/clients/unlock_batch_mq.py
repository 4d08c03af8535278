"""UNLOCK_BATCH_MQ: a consumer gives queues up; mostly sent one-way."""

from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.locks import UnlockBatchRequestBody
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.remoting.contract import Processor, Request, Response


class UnlockBatchMq(Processor[None]):
    codes = (RequestCode.UNLOCK_BATCH_MQ,)

    def __init__(self, locks: QueueLocks) -> None:
        self._locks = locks

    def handle(self, request: Request[None]) -> Response:
        asked = decode_request(UnlockBatchRequestBody, request.body)
        if asked.consumer_group is None:
            raise CodecError("UnlockBatchRequestBody needs consumerGroup")
        # Nobody holds a lock without a name.
        if asked.client_id is not None:
            self._locks.unlock(asked.consumer_group, asked.mq_set, asked.client_id)
        return Response()
