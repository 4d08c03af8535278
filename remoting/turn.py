"""One receive: its frames handled in order, their replies encoded together.

Hot: every message crosses this. Knows no socket and no event loop.
"""

from typing import Any, Final

from trimq.codec.command import (
    ONEWAY_BIT,
    RESPONSE_BIT,
    RemotingCommand,
    decode_command,
    encode_head,
)
from trimq.codec.errors import CodecError, HeaderTooLarge
from trimq.codec.frame import FrameBuffer
from trimq.codec.headers.base import Header, encode_header
from trimq.remoting.dispatch import Dispatcher
from trimq.remoting.exchange import Request, Response
from trimq.remoting.peer import Body, Buffer, Peer

_JSON: Final = 0
_LAST_BINARY_CODE: Final = 32767

# No step may hold the event loop for long: so many requests take a few milliseconds.
_FRAMES_PER_TURN: Final = 128

# What a request that waits takes besides the texts of its header.
_HELD_SIZE: Final = 2048

# What a reply without a body takes, roughly.
_HEAD_SIZE: Final = 256


class Reply:
    """A response on its way to the request with this opaque, in this header coding.

    `body_size`: bytes of its body; -1 until somebody has looked.
    """

    __slots__ = ("body_size", "coding", "opaque", "response")

    def __init__(self, opaque: int, coding: int, response: Response, body_size: int = -1) -> None:
        self.opaque: int = opaque
        self.coding: int = coding
        self.response: Response = response
        self.body_size: int = body_size


class Held:
    """A request that has to wait, and where its reply goes. `size`: bytes that it keeps, roughly."""

    __slots__ = ("coding", "request", "size")

    def __init__(self, request: Request[Any], coding: int, size: int = 0) -> None:
        self.request: Request[Any] = request
        self.coding: int = coding
        self.size: int = size


class Turn:
    """What the frames of one receive led to.

    `more`: there may be frames left; take another turn when the others had theirs and the outbox
    has room. `broken`: what was wrong with a frame; the connection is of no use after that.
    """

    __slots__ = ("answers", "broken", "frames", "held", "more", "replies")

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.held: list[Held] = []
        self.answers: list[RemotingCommand] = []
        self.frames: int = 0
        self.more: bool = False
        self.broken: str | None = None


def take_turn(frames: FrameBuffer, dispatcher: Dispatcher, peer: Peer, room: int) -> Turn:
    """Handle every complete frame, until the replies take more than `room` bytes."""
    turn = Turn()
    dispatcher.begin_receive()
    try:
        while room > 0 and turn.frames < _FRAMES_PER_TURN:
            frame = frames.next_frame()
            if frame is None:
                break
            turn.frames += 1
            try:
                command = decode_command(frame)
            except HeaderTooLarge as error:
                room -= _refuse(error, turn, dispatcher, peer)
                continue
            if command.flag & RESPONSE_BIT:
                turn.answers.append(command)
            else:
                room -= _handle(command, turn, dispatcher, peer, len(frame))
        else:
            turn.more = True
    except CodecError as error:
        turn.broken = str(error)
    finally:
        _end(turn, dispatcher)
    return turn


def _refuse(error: HeaderTooLarge, turn: Turn, dispatcher: Dispatcher, peer: Peer) -> int:
    """Answer a frame that was not decoded; the bytes that its reply takes, roughly."""
    response = dispatcher.refuse_header(error, peer)
    if error.flag & (RESPONSE_BIT | ONEWAY_BIT):
        return 0
    turn.replies.append(Reply(error.opaque, error.coding, response, 0))
    return _HEAD_SIZE


def _handle(
    command: RemotingCommand, turn: Turn, dispatcher: Dispatcher, peer: Peer, frame_size: int
) -> int:
    """Answer one request; the bytes that its reply takes, roughly."""
    outcome = dispatcher.begin(command, peer)
    if isinstance(outcome, Request):
        size = _HELD_SIZE + frame_size - len(command.body) + len(outcome.body)
        turn.held.append(Held(outcome, command.coding, size))
        return 0
    if outcome.no_reply or command.is_oneway:
        return 0
    size = body_size(outcome.body)
    turn.replies.append(Reply(command.opaque, command.coding, outcome, size))
    return _HEAD_SIZE + size


def _end(turn: Turn, dispatcher: Dispatcher) -> None:
    """Write what was staged; a failure replaces the replies that spoke too soon."""
    if not turn.frames:
        return
    failure = dispatcher.end_receive()
    if failure is not None:
        for reply in turn.replies:
            if reply.response.staged:
                reply.response = failure
                reply.body_size = -1


def encode_replies(replies: list[Reply], dispatcher: Dispatcher, out: list[Buffer]) -> int:
    """Append the buffers of all replies; how many bytes they are."""
    size = 0
    for reply in replies:
        try:
            size += encode_reply(reply, out)
        except Exception as error:
            # A processor's response that fits no frame must not cost the others their connection.
            reply.response = dispatcher.unencodable(reply.response, error)
            reply.body_size = -1
            size += encode_reply(reply, out)
    return size


def encode_reply(reply: Reply, out: list[Buffer]) -> int:
    """Append the reply's buffers, body uncopied; how many bytes they are."""
    response = reply.response
    fields = _fields(response.header, response.ext_fields)
    code = int(response.code)
    command = RemotingCommand(
        code,
        reply.opaque,
        RESPONSE_BIT,
        response.remark,
        fields,
        b"",
        # The binary header has 16 bits for the code; clients read either coding.
        reply.coding if code <= _LAST_BINARY_CODE else _JSON,
    )
    if reply.body_size < 0:
        reply.body_size = body_size(response.body)
    return _encode(command, response.body, reply.body_size, out)


def encode_request(command: RemotingCommand, header: Header | None, body: Body) -> list[Buffer]:
    """The buffers of a request of our own."""
    if header is not None:
        fields = encode_header(header)
        fields.update(command.ext_fields)
        command.ext_fields = fields
    out: list[Buffer] = []
    _encode(command, body, body_size(body), out)
    return out


def _encode(command: RemotingCommand, body: Body, size: int, out: list[Buffer]) -> int:
    head = encode_head(command, size)
    out.append(head)
    if isinstance(body, (bytes, bytearray, memoryview)):
        if size:
            out.append(body)
    else:
        out.extend(body)
    return len(head) + size


def _fields(header: Header | None, ext_fields: dict[str, str] | None) -> dict[str, str] | None:
    if header is None:
        return ext_fields
    fields = encode_header(header)
    if ext_fields:
        fields.update(ext_fields)
    return fields


def body_size(body: Body) -> int:
    """Bytes of a body, in one piece or many."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return len(body)
    size = 0
    for part in body:
        size += len(part)
    return size
