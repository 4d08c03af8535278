"""QueryRoute: the queues of a topic, with addresses that the client can reach (RouteActivity)."""

from __future__ import annotations

from typing import Final

from trimq.codec.bodies.route import QueueData
from trimq.codec.flags import Perm
from trimq.proxy.checks import check_topic
from trimq.proxy.endpoints import Endpoints
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Broker, MessageQueue, MessageType, Permission
from trimq.proxy.protos.service_pb2 import QueryRouteRequest, QueryRouteResponse
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import OK

_TYPES: Final = {
    "NORMAL": [MessageType.NORMAL],
    "FIFO": [MessageType.FIFO],
    "LITE": [MessageType.LITE],
    "TRANSACTION": [MessageType.TRANSACTION],
    "DELAY": [MessageType.DELAY],
    "PRIORITY": [MessageType.PRIORITY],
    "MIXED": [MessageType.NORMAL, MessageType.FIFO, MessageType.DELAY, MessageType.TRANSACTION],
}
_UNKNOWN: Final = [MessageType.MESSAGE_TYPE_UNSPECIFIED]


class QueryRoute:
    def __init__(self, routes: Routes, metadata: Metadata, endpoints: Endpoints) -> None:
        self._routes = routes
        self._metadata = metadata
        self._endpoints = endpoints

    async def __call__(self, caller: Caller, request: QueryRouteRequest) -> QueryRouteResponse:
        topic = check_topic(request.topic)
        endpoints = self._endpoints.of(caller, request.endpoints)
        route = await self._routes.of(topic)
        kind = await self._metadata.message_type(topic)
        types = _TYPES.get(kind, _UNKNOWN) if kind is not None else _UNKNOWN
        response = QueryRouteResponse(status=OK)
        ids = {one.broker_name: one.broker_addrs for one in route.data.broker_datas}
        for queues in route.data.queue_datas:
            if queues.broker_name not in ids:
                break
            for broker_id in ids[queues.broker_name]:
                broker = Broker(name=queues.broker_name, id=broker_id, endpoints=endpoints)
                for number, permission in enumerate(permissions(queues)):
                    response.message_queues.append(
                        MessageQueue(
                            topic=request.topic,
                            id=number,
                            permission=permission,
                            broker=broker,
                            accept_message_types=types,
                        )
                    )
        return response


def permissions(queues: QueueData) -> list[Permission]:
    """One for each queue: those that can be read only, written only, both, and those without any."""
    readable, writable = Perm.readable(queues.perm), Perm.writable(queues.perm)
    reads, writes = len(queues.readable()), len(queues.writable())
    if readable and writable:
        both = min(reads, writes)
        return (
            [Permission.READ] * (reads - both)
            + [Permission.WRITE] * (writes - both)
            + [Permission.READ_WRITE] * both
        )
    if writable:
        return [Permission.WRITE] * writes
    if readable:
        return [Permission.READ] * reads
    return [Permission.NONE] * max(1, reads, writes)
