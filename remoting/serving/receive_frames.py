"""One receive: its frames handled in order, their replies encoded together.

Every message crosses this. It knows no socket and no event loop.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable
from typing import Final

from trimq.base.file_body import FileBody
from trimq.codec.errors import CodecError, HeaderRefused
from trimq.codec.frames.command import (
    ONEWAY_BIT,
    RESPONSE_BIT,
    RemotingCommand,
    decode_command,
    encode_head,
)
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import Header, encode_header
from trimq.remoting.exchange import Later, Response
from trimq.remoting.peer import Body, Buffer, Peer, ReplyBody
from trimq.remoting.serving.dispatch import Dispatcher

_JSON: Final = 0
_LAST_BINARY_CODE: Final = 32767

# No step may hold the event loop for long: this many requests take a few milliseconds.
_FRAMES_PER_TURN: Final = 128
# And this many of those that do not come with every message: one may take as much as all others together.
_APART_PER_TURN: Final = 8

# And copies of stored messages, which short requests may ask for: with so many bytes the others have their turn.
_COPIED_PER_TURN: Final = 256 * 1024

# Bytes that a waiting request takes besides the texts of its header.
_WAITING_SIZE: Final = 2048

# Bytes of a reply without a body, roughly.
_HEAD_SIZE: Final = 256


class Reply:
    """A response on its way to the request with this opaque, in this header coding.

    `body_size`: bytes of its body; -1 until it is counted.
    """

    __slots__ = ("body_size", "coding", "opaque", "response")

    def __init__(self, opaque: int, coding: int, response: Response, body_size: int = -1) -> None:
        self.opaque: int = opaque
        self.coding: int = coding
        self.response: Response = response
        self.body_size: int = body_size


class WaitingRequest:
    """An answer that has to wait, and where it goes. `size`: bytes that it keeps, roughly."""

    __slots__ = ("coding", "later", "size")

    def __init__(self, later: Later, coding: int, size: int = 0) -> None:
        self.later: Later = later
        self.coding: int = coding
        self.size: int = size


class Turn:
    """The outcome of the frames of one receive.

    `copied`: bytes of stored messages that its requests staged copies of. `more`: there may be frames
    left; take another turn when the others have had theirs and the outbox has room. `broken`: what was
    wrong with a frame; the connection is unusable after that. `term`: in which its records were written.
    """

    __slots__ = ("answers", "broken", "copied", "frames", "more", "replies", "term", "waiting")

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.waiting: list[WaitingRequest] = []
        self.answers: list[RemotingCommand] = []
        self.frames: int = 0
        self.copied: int = 0
        self.more: bool = False
        self.broken: str | None = None
        self.term: int = 0


def take_turn(frames: FrameBuffer, dispatcher: Dispatcher, peer: Peer, room: int) -> Turn:
    """Handle every complete frame, until the replies take more than `room` bytes; then write what was staged."""
    turn = begin_turn(frames, dispatcher, peer, room)
    if turn.frames:
        failure = dispatcher.end_receive()
        if failure is not None:
            fail_staged(turn, failure)
    return turn


def begin_turn(
    frames: FrameBuffer,
    dispatcher: Dispatcher,
    peer: Peer,
    room: int,
    write_others: Callable[[Turn], None] | None = None,
) -> Turn:
    """Handle them, and leave the write to the caller.

    `write_others`: called before a request that is not decided while records of other connections are staged.
    """
    turn = Turn()
    dispatcher.begin_receive()
    try:
        while (
            room > 0
            and turn.frames < _FRAMES_PER_TURN
            and turn.copied < _COPIED_PER_TURN
            and dispatcher.apart < _APART_PER_TURN
        ):
            frame = frames.next_frame()
            if frame is None:
                break
            turn.frames += 1
            try:
                command = decode_command(frame)
            except HeaderRefused as error:
                room -= _refuse(error, turn, dispatcher, peer)
                continue
            if command.flag & RESPONSE_BIT:
                turn.answers.append(command)
                continue
            if write_others is not None and not dispatcher.joins_rounds(command.code):
                write_others(turn)
            room -= _handle(command, turn, dispatcher, peer, len(frame))
        else:
            turn.more = True
    except CodecError as error:
        turn.broken = str(error)
    return turn


def _refuse(error: HeaderRefused, turn: Turn, dispatcher: Dispatcher, peer: Peer) -> int:
    """Answer a frame that was not decoded; the bytes that its reply takes, roughly.

    Whoever waits for an answer of ours gets this instead. What cannot be answered is passed over: nobody knows whom
    a made-up opaque would reach.
    """
    response = dispatcher.refuse_header(error, peer)
    opaque = error.opaque
    if opaque is None:
        return 0
    if error.flag & RESPONSE_BIT:
        turn.answers.append(RemotingCommand(response.code, opaque, error.flag, response.remark))
        return 0
    if error.flag & ONEWAY_BIT:
        return 0
    turn.replies.append(Reply(opaque, error.coding, response, 0))
    return _HEAD_SIZE


def _handle(
    command: RemotingCommand, turn: Turn, dispatcher: Dispatcher, peer: Peer, frame_size: int
) -> int:
    """Answer one request; the bytes that its reply takes, roughly."""
    outcome = dispatcher.begin(command, peer)
    if isinstance(outcome, Later):
        size = _WAITING_SIZE + frame_size
        if not outcome.keeps_body:
            size -= len(command.body)
        turn.waiting.append(WaitingRequest(outcome, command.coding, size))
        return 0
    turn.copied += outcome.copied
    if outcome.no_reply or command.is_oneway:
        return 0
    size = body_size(outcome.body)
    turn.replies.append(Reply(command.opaque, command.coding, outcome, size))
    return _HEAD_SIZE + size


def fail_staged(turn: Turn, failure: Response) -> None:
    """The write has failed: this replaces the replies that assumed success."""
    for reply in turn.replies:
        if reply.response.staged:
            reply.response = failure
            reply.body_size = -1


class Encoded:
    """Replies as bytes: `buffers` of `size` bytes, and heads whose bodies lie in files."""

    __slots__ = ("buffers", "files", "size")

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.size: int = 0
        self.files: list[tuple[bytes, FileBody]] | None = None


def encode_replies(replies: list[Reply], dispatcher: Dispatcher) -> Encoded:
    """All replies, bodies uncopied."""
    out = Encoded()
    for reply in replies:
        try:
            encode_reply(reply, out)
        except Exception as error:
            # A response that does not fit a frame must not cost the others their connection.
            reply.response = dispatcher.unencodable(reply.response, error)
            reply.body_size = -1
            encode_reply(reply, out)
    return out


def encode_reply(reply: Reply, out: Encoded) -> None:
    """Append the reply."""
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
    if fields is not None and not fields:
        command.shows_no_fields = True
    body = response.body
    if reply.body_size < 0:
        reply.body_size = body_size(body)
    if isinstance(body, FileBody):
        if out.files is None:
            out.files = []
        out.files.append((encode_head(command, reply.body_size), body))
    else:
        out.size += _encode(command, body, reply.body_size, out.buffers)


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


def body_size(body: ReplyBody) -> int:
    """Bytes of a body, in one piece or many."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return len(body)
    if isinstance(body, FileBody):
        return body.size
    size = 0
    for part in body:
        size += len(part)
    return size
