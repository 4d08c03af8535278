"""The hand over HTTP: `POST /time/advance` with a JSON object, and a JSON answer.

`GET /` lists everything that can be asked. Errors are `{"error": text}`: 400 for what cannot be done or was not
understood, 404 for what there is not.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import trio

from trimq.hand.hand import Hand
from trimq.hand.operation import HandError, Operation
from trimq.process.http import BodyTooLong, HttpRequest, read_request, send_answer
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.listening import listen

log = logging.getLogger("trimq.hand")

_MOST_BODY: Final = 1 << 20
_JSON: Final = "application/json"
_CONNECTIONS: Final = 64


class Refused(Exception):
    """`status` and what is said."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@asynccontextmanager
async def hand_server(hand: Hand, endpoint: Endpoint) -> AsyncIterator[Endpoint]:
    """Serve the hand until the block ends; yields the address that is listened on. AddressError."""
    try:
        sock = listen(endpoint, "hand")
    except AddressError as error:
        raise AddressError(f"cannot serve the hand, choose another --hand: {error}") from error
    bound = Endpoint(endpoint.host, sock.getsockname()[1])
    log.warning(
        "this server is in the hand of a test: time, faults and its data can be changed at http://%s",
        bound,
    )
    with trio.socket.from_stdlib_socket(sock) as listening:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_accept, listening, hand)
            yield bound
            nursery.cancel_scope.cancel()


async def _accept(listening: trio.socket.SocketType, hand: Hand) -> None:
    room = trio.Semaphore(_CONNECTIONS)
    async with trio.open_nursery() as nursery:
        while True:
            await room.acquire()
            sock, _ = await listening.accept()
            nursery.start_soon(_serve, sock, hand, room)


async def _serve(sock: trio.socket.SocketType, hand: Hand, room: trio.Semaphore) -> None:
    try:
        with sock:
            stream = trio.SocketStream(sock)
            status, answer = "413 Content Too Large", b""
            method = "POST"
            try:
                request = await read_request(stream, _MOST_BODY)
                if request is None:
                    return
                method = request.method
                status, answer = "200 OK", await answered(hand, request)
            except BodyTooLong:
                answer = _error(f"a body has a length, and at most {_MOST_BODY} bytes")
            except Refused as refused:
                status, answer = refused.status, _error(str(refused))
            await send_answer(stream, method, status, _JSON, answer)
    except (OSError, trio.BrokenResourceError) as error:
        log.debug("hand: connection failed: reason=%s", error)
    finally:
        room.release()


async def answered(hand: Hand, request: HttpRequest) -> bytes:
    """The JSON of the answer. Refused."""
    if "origin" in request.headers:
        # A browser says so of what a page asks.
        raise Refused("403 Forbidden", "the hand is for tests, and not for pages of a browser")
    path = request.target.partition("?")[0].strip("/")
    if not path and request.method in ("GET", "HEAD"):
        return msgspec.json.encode([_described(one) for one in hand.operations.values()])
    operation = hand.operations.get(path)
    if operation is None:
        near = difflib.get_close_matches(path, hand.operations, 1)
        hint = f"did you mean /{near[0]}?" if near else "GET / lists what there is"
        raise Refused("404 Not Found", f"there is no /{path}: {hint}")
    if request.method != "POST":
        raise Refused("405 Method Not Allowed", f"/{path} is asked with POST")
    try:
        # An empty map is null in some languages.
        body = b"{}" if request.body.strip() in (b"", b"null") else request.body
        words = msgspec.json.decode(body, type=operation.words)
    except msgspec.DecodeError as error:
        known = ", ".join(field.name for field in msgspec.structs.fields(operation.words))
        raise Refused(
            "400 Bad Request", f"/{path}: {error}; it takes: {known or 'nothing'}"
        ) from None
    try:
        return msgspec.json.encode(await operation.do(words))
    except HandError as error:
        raise Refused("400 Bad Request", str(error)) from None
    except Exception as error:
        log.exception("hand: failed: path=%s", path)
        raise Refused("500 Internal Server Error", f"{type(error).__name__}: {error}") from None


def _described(operation: Operation[Any]) -> dict[str, Any]:
    words = {
        field.name: "needed" if field.required else field.default
        for field in msgspec.structs.fields(operation.words)
        if field.default_factory is msgspec.NODEFAULT
    }
    return {"path": f"/{operation.path}", "doc": operation.doc, "words": words}


def _error(text: str) -> bytes:
    return msgspec.json.encode({"error": text})
