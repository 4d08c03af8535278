"""Calls become methods of the gRPC server: who calls is checked, and a failure is a status in the answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.methods import Gone, Message, Method
from trimq.proxy.grpc.statuses import GrpcError
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.proxy.statuses import ProxyError, status_of

log = logging.getLogger("trimq.proxy")

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"


def check_caller(caller: Caller) -> None:
    """Everything but a health check is asked by a client that says who it is."""
    if not caller.client_id or caller.client_id.isspace():
        raise ProxyError(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")


def refused(call: str, caller: Caller, why: Status | GrpcError) -> None:
    """A trace of it, for who looks for the cause: clients often keep it to themselves."""
    if log.isEnabledFor(logging.DEBUG):
        if isinstance(why, GrpcError):
            code, text = why.status.name, why.text
        else:
            code, text = Code.Name(why.code), why.message
        log.debug(
            "call refused: call=%s client=%s peer=%s code=%s text=%s",
            call,
            caller.client_id,
            caller.remote_addr,
            code,
            " ".join(text.split()),
        )


def unary(
    request: type[Any],
    answer: Callable[..., Message],
    handle: Callable[[Caller, Any], Awaitable[Message]],
    failed: Callable[[Any, Status], Message] | None = None,
) -> Method:
    """One request, one answer; `failed` makes the answer of a failure, by default the status alone."""

    call = request.DESCRIPTOR.name.removesuffix("Request")

    async def run(caller: Caller, asked: Any) -> Message:
        try:
            check_caller(caller)
            answered: Any = await handle(caller, asked)
        except Gone:
            raise
        except Exception as error:
            status = status_of(error)
            refused(call, caller, status)
            return answer(status=status) if failed is None else failed(asked, status)
        if answered.status.code >= Code.BAD_REQUEST:
            refused(call, caller, answered.status)
        return answered  # type: ignore[no-any-return]

    return Method(request.FromString, unary=run)
