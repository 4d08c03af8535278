"""Heartbeat: a client lives (ClientActivity)."""

from __future__ import annotations

from typing import Final

from trimq.proxy.checks import check_group
from trimq.proxy.clients import Clients
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import ClientType, Code
from trimq.proxy.protos.service_pb2 import HeartbeatRequest, HeartbeatResponse
from trimq.proxy.statuses import OK, status

CONSUMERS: Final = frozenset(
    {ClientType.PUSH_CONSUMER, ClientType.LITE_PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER}
)


class Heartbeat:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    async def __call__(self, caller: Caller, request: HeartbeatRequest) -> HeartbeatResponse:
        client = self._clients.get(caller.client_id)
        if client is None or client.settings is None:
            return HeartbeatResponse(
                status=status(
                    Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client"
                )
            )
        kind = client.settings.client_type
        if kind in CONSUMERS:
            check_group(request.group)
        elif kind != ClientType.PRODUCER:
            return HeartbeatResponse(
                status=status(Code.UNRECOGNIZED_CLIENT_TYPE, ClientType.Name(kind))
            )
        self._clients.heard_of(caller.client_id, caller.remote_addr)
        return HeartbeatResponse(status=OK)
