"""The hand over HTTP: `POST /time/advance` with a JSON object, and a JSON answer.

`GET /` lists everything that can be asked. Errors are `{"error": text}`: 400 for what cannot be done or was not
understood, 404 for what there is not.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import msgspec
import trio

from trimq.hand.hand import Hand
from trimq.hand.operation import HandError, Operation, Words
from trimq.hand.told import words_of
from trimq.process.http import (
    BodyTooLong,
    HttpRequest,
    NoLength,
    read_request,
    read_rest,
    send_answer,
)
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.listening import listen

log = logging.getLogger("trimq.hand")

_MOST_BODY: Final = 1 << 20
_JSON: Final = "application/json"
_CONNECTIONS: Final = 64

Do = Callable[[Operation[Any], Words], Awaitable[Any]]


class Refused(Exception):
    """`status` and what is said."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@asynccontextmanager
async def hand_server(hand: Hand, endpoint: Endpoint) -> AsyncIterator[Endpoint]:
    """Serve the hand until the block ends; yields the address that is listened on. AddressError."""
    try:
        sock = listen(endpoint, "hand", option="--hand")
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
            nursery.start_soon(_serve, sock, hand, room, nursery)


async def _serve(
    sock: trio.socket.SocketType, hand: Hand, room: trio.Semaphore, watchers: trio.Nursery
) -> None:
    try:
        with sock:
            stream = trio.SocketStream(sock)
            method, is_read = "POST", False
            try:
                request = await read_request(stream, _MOST_BODY)
                if request is None:
                    return
                method, is_read = request.method, True
                status, answer = (
                    "200 OK",
                    await answered(hand, request, partial(_while_it_is_there, stream, watchers)),
                )
            except BodyTooLong:
                status = "413 Content Too Large"
                answer = _error(f"a body has at most {_MOST_BODY} bytes")
            except NoLength:
                status = "411 Length Required"
                answer = _error(
                    "bodies in chunks are not read: say Content-Length, and send it in one piece"
                )
            except Refused as refused:
                status, answer = refused.status, _error(str(refused))
            await send_answer(stream, method, status, _JSON, answer)
            if not is_read:
                await read_rest(stream)
    except (OSError, trio.BrokenResourceError) as error:
        log.debug("hand: connection failed: reason=%s", error)
    finally:
        room.release()


async def _while_it_is_there(
    stream: trio.SocketStream, watchers: trio.Nursery, operation: Operation[Any], words: Words
) -> Any:
    """None, and nobody hears of it, when its client has left before it was done."""
    if not operation.ends_with_client:
        return await operation.do(words)
    work, watch = trio.CancelScope(), trio.CancelScope()
    watchers.start_soon(_watch, stream, work, watch)
    try:
        with work:
            return await operation.do(words)
    finally:
        watch.cancel()
    log.info("hand: its client has left before it was done: path=%s", operation.path)
    return None


async def _watch(
    stream: trio.SocketStream, work: trio.CancelScope, watch: trio.CancelScope
) -> None:
    with watch:
        # It has sent its request, and that all of it is read.
        with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            while await stream.receive_some(1024):
                pass
        work.cancel()


async def _simply(operation: Operation[Any], words: Words) -> Any:
    return await operation.do(words)


async def answered(hand: Hand, request: HttpRequest, do: Do = _simply) -> bytes:
    """The JSON of the answer. `do`: how an operation is done. Refused."""
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
        words = words_of(operation, request.body)
        return msgspec.json.encode(await do(operation, words))
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
