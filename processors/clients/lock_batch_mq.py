"""LOCK_BATCH_MQ: a consumer locks queues for itself, to consume in order, or renews the locks."""

from trimq.broker.groups.queue_locks import QueueLocks
from trimq.codec.bodies.base import decode_request, encode_body
from trimq.codec.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.remoting.contract import Processor, Request, Response


class LockBatchMq(Processor[None]):
    """The answer names the queues that the client holds now.

    Only this broker is asked: lockInStrictMode, which asks replicas too, is off by default.
    """

    codes = (RequestCode.LOCK_BATCH_MQ,)

    def __init__(self, locks: QueueLocks) -> None:
        self._locks = locks

    def handle(self, request: Request[None]) -> Response:
        asked = decode_request(LockBatchRequestBody, request.body)
        if not asked.mq_set:
            return Response(body=encode_body(LockBatchResponseBody()))
        if asked.consumer_group is None or asked.client_id is None:
            raise CodecError("LockBatchRequestBody needs consumerGroup and clientId")
        held = self._locks.lock(asked.consumer_group, asked.mq_set, asked.client_id)
        return Response(body=encode_body(LockBatchResponseBody(lock_ok_mq_set=held)))
