"""QUERY_ASSIGNMENT (400): which queues of a topic a client shall read, and whether to pull or to pop them."""

import logging

from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.consumers.group import BROADCASTING
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.rebalance.assignment import CannotShare, shared_out, shared_to_pop
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.base import decode_request, encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.pop import (
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header
from trimq.codec.names import LMQ_PREFIX, RETRY_PREFIX
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response

log = logging.getLogger("trimq.pop")


class QueryAssignment(Processor[Header]):
    codes = (RequestCode.QUERY_ASSIGNMENT,)

    def __init__(
        self,
        config: BrokerConfig,
        identity: BrokerIdentity,
        routes: ClusterRoutes,
        modes: RequestModes,
        consumers: Consumers,
    ) -> None:
        self._config = config
        self._identity = identity
        self._routes = routes
        self._modes = modes
        self._consumers = consumers

    def handle(self, request: Request[Header]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[Header]) -> Response:
        asked = decode_request(QueryAssignmentRequestBody, request.body)
        if asked.topic is None:
            raise _without("topic")
        mode = self._mode(asked.topic, asked.consumer_group)
        if asked.message_model is None:
            raise _without("messageModel")
        try:
            queues = await self._queues(asked, asked.topic, mode)
        except CannotShare as error:
            log.warning(
                "no queues assigned group=%s topic=%s reason=%s",
                asked.consumer_group,
                asked.topic,
                error,
            )
            queues = None
        body = QueryAssignmentResponseBody()
        if queues is not None:
            body.message_queue_assignments = [
                MessageQueueAssignment(message_queue=queue, mode=mode.mode)
                for queue in dict.fromkeys(queues)
            ]
        return Response(ResponseCode.SUCCESS, body=encode_body(body))

    def _mode(self, topic: str, group: str | None) -> SetMessageRequestModeRequestBody:
        found = None if group is None else self._modes.get(topic, group)
        if found is not None:
            return found
        config = self._config
        pulls = topic.startswith(RETRY_PREFIX) or config.default_message_request_mode == "PULL"
        return SetMessageRequestModeRequestBody(
            mode="PULL" if pulls else "POP",
            pop_share_queue_num=0 if pulls else config.default_pop_share_queue_num,
        )

    async def _queues(
        self, asked: QueryAssignmentRequestBody, topic: str, mode: SetMessageRequestModeRequestBody
    ) -> list[MessageQueue] | None:
        if topic.startswith(LMQ_PREFIX) and asked.message_model != BROADCASTING:
            queues: list[MessageQueue] | None = [
                MessageQueue(broker_name=self._identity.name, queue_id=0, topic=topic)
            ]
        else:
            queues = await self._routes.readable_queues(topic)
        if queues is None or asked.message_model == BROADCASTING:
            return queues
        if not self._config.server_load_balancer_enable:
            return queues
        if asked.consumer_group is None:
            raise _without("consumerGroup")
        group = self._consumers.group(asked.consumer_group)
        if group is None:
            raise CannotShare("nobody of the group is online")
        clients = sorted(group.client_ids())
        if mode.mode == "POP":
            share_with = mode.pop_share_queue_num
            return shared_to_pop(queues, clients, asked.client_id, asked.strategy_name, share_with)
        return shared_out(queues, clients, asked.client_id, asked.strategy_name)


def _without(field: str) -> RemotingError:
    return RemotingError(ResponseCode.SYSTEM_ERROR, f"the request has no {field}")
