"""NotifyClientTermination: a client says goodbye (ClientActivity)."""

from __future__ import annotations

from trimq.proxy.checks import check_group
from trimq.proxy.clients import CONSUMERS, Clients, kind_name
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import ClientType, Code
from trimq.proxy.protos.service_pb2 import (
    NotifyClientTerminationRequest,
    NotifyClientTerminationResponse,
)
from trimq.proxy.statuses import OK, ProxyError


class NotifyClientTermination:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    async def __call__(
        self, caller: Caller, request: NotifyClientTerminationRequest
    ) -> NotifyClientTerminationResponse:
        client = self._clients.get(caller.client_id)
        if client is None or client.settings is None:
            raise ProxyError(
                Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client"
            )
        kind = client.settings.client_type
        # Whatever else is wrong with the request: that client is gone.
        self._clients.remove(caller.client_id)
        if kind in CONSUMERS:
            check_group(request.group)
        elif kind != ClientType.PRODUCER:
            raise ProxyError(Code.UNRECOGNIZED_CLIENT_TYPE, kind_name(kind))
        return NotifyClientTerminationResponse(status=OK)
