"""Heartbeat: a client lives (ClientActivity)."""

from __future__ import annotations

from trimq.proxy.checks import check_group
from trimq.proxy.clients import CONSUMERS, Clients, kind_name
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import ClientType, Code
from trimq.proxy.protos.service_pb2 import HeartbeatRequest, HeartbeatResponse
from trimq.proxy.registration import Registration
from trimq.proxy.statuses import OK, ProxyError


class Heartbeat:
    def __init__(self, clients: Clients, registration: Registration) -> None:
        self._clients = clients
        self._registration = registration

    async def __call__(self, caller: Caller, request: HeartbeatRequest) -> HeartbeatResponse:
        client = self._clients.get(caller.client_id)
        if client is None or client.settings is None:
            raise ProxyError(
                Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client"
            )
        kind = client.settings.client_type
        if kind in CONSUMERS:
            group = check_group(request.group)
            subscriptions = client.settings.subscription.subscriptions
            await self._registration.check(group, kind, subscriptions)
        elif kind != ClientType.PRODUCER:
            raise ProxyError(Code.UNRECOGNIZED_CLIENT_TYPE, kind_name(kind))
        if self._clients.get(caller.client_id) is client:
            # It may have said goodbye meanwhile.
            self._clients.heard_of(caller.client_id, caller.remote_addr)
        return HeartbeatResponse(status=OK)
