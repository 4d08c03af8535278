"""Calls become methods of the gRPC server: who calls is checked, and a failure is a status in the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Gone, Message, Method
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.proxy.statuses import ProxyError, status_of

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"


def check_caller(caller: Caller) -> None:
    """Everything but a health check is asked by a client that says who it is."""
    if not caller.client_id or caller.client_id.isspace():
        raise ProxyError(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")


def unary(
    request: type[Any],
    answer: Callable[..., Message],
    handle: Callable[[Caller, Any], Awaitable[Message]],
    failed: Callable[[Any, Status], Message] | None = None,
) -> Method:
    """One request, one answer; `failed` makes the answer of a failure, by default the status alone."""

    async def run(caller: Caller, asked: Any) -> Message:
        try:
            check_caller(caller)
            return await handle(caller, asked)
        except Gone:
            raise
        except Exception as error:
            status = status_of(error)
            return answer(status=status) if failed is None else failed(asked, status)

    return Method(request.FromString, unary=run)
