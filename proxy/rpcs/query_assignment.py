"""QueryAssignment: what a push consumer receives from (RouteActivity)."""

from __future__ import annotations

from trimq.codec.flags import Perm
from trimq.codec.names import MASTER_ID
from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Broker, Code, MessageQueue, Permission
from trimq.proxy.protos.service_pb2 import QueryAssignmentRequest, QueryAssignmentResponse
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import OK, status


class QueryAssignment:
    def __init__(self, routes: Routes, metadata: Metadata, endpoints: Endpoints) -> None:
        self._routes = routes
        self._metadata = metadata
        self._endpoints = endpoints

    async def __call__(
        self, caller: Caller, request: QueryAssignmentRequest
    ) -> QueryAssignmentResponse:
        topic, name = check_topic(request.topic), check_group(request.group)
        endpoints = self._endpoints.of(caller, request.endpoints)
        route = await self._routes.of(topic)
        group = await self._metadata.group(name)
        # A group of lite topics has none of its own.
        each = (
            group is not None
            and group.consume_message_orderly
            and not group.attributes.get("lite.bind.topic")
        )
        response = QueryAssignmentResponse(status=OK)
        for queues in route.data.queue_datas:
            count = len(queues.readable())
            addr = route.readable_at(queues.broker_name)
            if not Perm.readable(queues.perm) or count == 0 or addr is None:
                continue
            writable = Perm.writable(queues.perm)
            broker = Broker(name=queues.broker_name, id=MASTER_ID, endpoints=endpoints)
            for number in range(count) if each else (-1,):
                queue = MessageQueue(
                    topic=request.topic,
                    id=number,
                    permission=Permission.READ_WRITE if writable else Permission.READ,
                    broker=broker,
                )
                response.assignments.add(message_queue=queue)
        if not response.assignments:
            return QueryAssignmentResponse(status=status(Code.FORBIDDEN, "no readable queue"))
        return response
