"""LOCK_BATCH_MQ: a consumer locks queues for itself, to consume in order, or renews the locks."""

from typing import Protocol

from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.base import decode_request, encode_body
from trimq.codec.bodies.locks import LockBatchRequestBody, LockBatchResponseBody, MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.store.errors import StoreError


class Gating(Protocol):
    """Who locks queues of an elastic topic reads it in order from then on."""

    def gate(self, group: str, topic: str) -> int:
        """The end of the record that says so; -1: nothing new. StoreError."""


class LockBatchMq(Processor[None]):
    """The answer names the queues that the client holds now.

    Only this broker is asked: lockInStrictMode, which asks replicas too, is off by default.
    """

    codes = (RequestCode.LOCK_BATCH_MQ,)

    def __init__(
        self, locks: QueueLocks, identity: BrokerIdentity, gating: Gating, waits: bool = False
    ) -> None:
        """`waits`: an answer waits until what it says is on the disk."""
        self._locks = locks
        self._identity = identity
        self._gating = gating
        self._waits = waits

    def handle(self, request: Request[None]) -> Response:
        asked = decode_request(LockBatchRequestBody, request.body)
        if not asked.mq_set:
            return Response(body=encode_body(LockBatchResponseBody()))
        if asked.consumer_group is None or asked.client_id is None:
            raise CodecError("LockBatchRequestBody needs consumerGroup and clientId")
        held = self._locks.lock(asked.consumer_group, asked.mq_set, asked.client_id, request.peer)
        end = self._gate(asked.consumer_group, asked.mq_set)
        body = encode_body(LockBatchResponseBody(lock_ok_mq_set=held))
        return Response(body=body, durable_at=end if self._waits else -1)

    def _gate(self, group: str, queues: set[MessageQueue]) -> int:
        """What a consumer may take for granted has to outlast this process. RemotingError: it would not."""
        topics = {queue.topic for queue in queues if queue.broker_name == self._identity.name}
        try:
            return max((self._gating.gate(group, topic or "") for topic in topics), default=-1)
        except StoreError as error:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"the lock could not be recorded: {error}"
            ) from error
