"""What a server offers: by the path of a call, how its messages are read and who answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus


class Message(Protocol):
    """A message of protobuf."""

    def SerializeToString(self) -> bytes: ...


class Out(Protocol):
    """Where a call's messages go."""

    async def send(self, message: Message) -> None:
        """Waits while the peer takes no more; Gone when it never will."""


class Gone(Exception):
    """Whoever called has gone."""


Unary = Callable[[Caller, Any], Awaitable[Message]]
Answers = Callable[[Caller, Any, Out], Awaitable[None]]
Talk = Callable[[Caller, AsyncIterator[Any], Out], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Method:
    """One of `unary`, `answers` (one request, many answers) and `talk` (many of both).

    `request`: reads a message; ValueError and the like when the bytes are none.
    """

    request: Callable[[bytes], Any]
    unary: Unary | None = None
    answers: Answers | None = None
    talk: Talk | None = None


def unimplemented(path: str) -> Method:
    """A call that is defined, and served by nobody; its answer is not that of a call which is not."""

    async def answer(caller: Caller, request: Any) -> Message:
        raise GrpcError(GrpcStatus.UNIMPLEMENTED, f"Method {path[1:]} is unimplemented")

    return Method(bytes, unary=answer)
