"""The server's side of one HTTP/2 connection (RFC 9113): frames in, events out, and frames of answers.

Everything else of the proxy sees this class and its events: the transport may be exchanged. The library h2 took most of
the proxy's time here, and is what the tests hold it against.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from collections.abc import Iterator
from typing import Final

from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room
from trimq.proxy.http2.fields import BadFields, FieldsReader, TooManyFields
from trimq.proxy.http2.frame_kinds import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITISED,
    PRIORITY,
    PUSH,
    RESET,
    SETTINGS,
    WINDOW,
    unpadded,
)
from trimq.proxy.http2.heads import Field, Fields, HeadEncoder
from trimq.proxy.http2.intake import Intake
from trimq.proxy.http2.settings import greeting, heard_settings
from trimq.proxy.http2.streams import WINDOW_MOST, Stream, Window

# What one frame of an answer holds at most: several answers take turns.
FRAME_MOST: Final = 16 * 1024
_HEAD: Final = struct.Struct(">BHBBI")
_INT: Final = struct.Struct(">I")
_TWO: Final = struct.Struct(">II")
_LOWER_31: Final = 0x7FFFFFFF
_FIRST_ROOM: Final = 65535
_LAST_OF_ALL: Final = 2**31 - 1
# The question whose answer shows that a peer has read that we leave; the other one: whether it is there.
_HEARD: Final = b"leaving?"
_THERE: Final = b"are you?"


class Http2Connection:
    """Bytes in, events out. `known`: heads that are sent often."""

    def __init__(
        self,
        bounds: Http2Bounds = Http2Bounds(),  # noqa: B008 - it is frozen
        known: frozenset[tuple[Field, ...]] = frozenset(),
    ) -> None:
        self._streams: int = bounds.streams
        self._stream_window: int = bounds.stream_window
        self._intake = Intake(bounds)
        self._encoder = HeadEncoder(known)
        self._fields = FieldsReader(bounds.head_bytes)
        self._now: float = 0.0
        self._open: dict[int, Stream] = {}
        self._highest: int = 0
        self._window = Window(bounds.connection_window)
        self._room: int = _FIRST_ROOM
        self._first_room: int = _FIRST_ROOM
        # Of a head that is not whole.
        self._block: list[bytes] = []
        self._block_of: int = 0
        self._block_ends: bool = False
        self._leaves: bool = False
        self._takes_none: bool = False
        self._out: list[bytes] = [greeting(bounds, _FIRST_ROOM)]

    def receive(self, data: bytes, now: float) -> Iterator[list[Event]]:
        """What these bytes say, in steps between which others may have their turn. `now` in seconds.

        BadPeer when the connection cannot go on.
        """
        self._now = now
        try:
            for frames in self._intake.cut(data, now):
                events: list[Event] = []
                for kind, flags, stream, body in frames:
                    self._frame(kind, flags, stream, body, events)
                yield events
        except BadPeer as error:
            self.end(error.code)
            raise

    @property
    def is_greeted(self) -> bool:
        """Whether the peer has begun as it has to."""
        return self._intake.is_greeted

    @property
    def takes_no_more(self) -> bool:
        """Whether new streams are refused."""
        return self._takes_none

    def outgoing(self) -> bytes:
        """What has to be sent now."""
        out = self._out
        if not out:
            return b""
        data = b"".join(out) if len(out) > 1 else out[0]
        out.clear()
        return data

    def consumed(self, stream: int, size: int) -> None:
        """The peer may send as much again."""
        if not size:
            return
        self._give_back(size)
        opened = self._open.get(stream)
        if opened is not None and not opened.has_ended:
            owed = opened.window.give_back(size)
            if owed:
                self._say(WINDOW, 0, stream, _INT.pack(owed))

    def room(self, stream: int) -> int:
        """How many bytes of a body may be sent now, of one frame at most; 0 for a stream that has gone."""
        opened = self._open.get(stream)
        if opened is None or opened.is_answered:
            return 0
        room = opened.room if opened.room < self._room else self._room
        return 0 if room < 0 else FRAME_MOST if room > FRAME_MOST else room

    def send_head(self, stream: int, fields: Fields, ended: bool = False) -> None:
        """The head of an answer, or what follows its body. Nothing when the stream has gone."""
        opened = self._open.get(stream)
        if opened is None or opened.is_answered:
            return
        block = self._encoder.encode(fields)
        flags = END_STREAM if ended else 0
        if len(block) <= FRAME_MOST:
            self._say(HEADERS, flags | END_HEADERS, stream, block)
        else:
            self._say(HEADERS, flags, stream, block[:FRAME_MOST])
            for at in range(FRAME_MOST, len(block), FRAME_MOST):
                is_last = at + FRAME_MOST >= len(block)
                piece = block[at : at + FRAME_MOST]
                self._say(CONTINUATION, END_HEADERS if is_last else 0, stream, piece)
        if ended:
            opened.is_answered = True
            if opened.has_ended:
                del self._open[stream]

    def send_data(self, stream: int, data: bytes) -> None:
        """A piece of an answer's body, no longer than there is room for."""
        opened = self._open.get(stream)
        if opened is None or opened.is_answered:
            return
        opened.room -= len(data)
        self._room -= len(data)
        self._say(DATA, 0, stream, data)
        self._intake.answered()

    def reset(self, stream: int, code: ErrorCode = ErrorCode.CANCEL) -> None:
        """Give a stream up; nothing when it is over."""
        if self._open.pop(stream, None) is not None:
            self._say(RESET, 0, stream, _INT.pack(int(code)))

    def leave(self) -> None:
        """Tell the peer that it shall go elsewhere; streams that it has opened before it reads so are still taken."""
        if not self._leaves:
            self._leaves = True
            self._go_away(_LAST_OF_ALL, ErrorCode.NO_ERROR)
            self._say(PING, 0, 0, _HEARD)

    def take_no_more(self) -> None:
        """Streams that are opened from now on are refused."""
        if not self._takes_none:
            self._leaves = self._takes_none = True
            self._go_away(self._highest, ErrorCode.NO_ERROR)

    def end(self, code: ErrorCode) -> None:
        """Tell the peer why the connection ends at once."""
        self._takes_none = True
        self._go_away(self._highest, code)

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._say(PING, 0, 0, _THERE)

    def _say(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        size = len(body)
        self._out.append(_HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream))
        self._out.append(body)

    def _go_away(self, last: int, code: ErrorCode) -> None:
        self._say(GOAWAY, 0, 0, _TWO.pack(last, int(code)))

    def _give_back(self, size: int) -> None:
        owed = self._window.give_back(size)
        if owed:
            self._say(WINDOW, 0, 0, _INT.pack(owed))

    def _frame(self, kind: int, flags: int, stream: int, body: bytes, events: list[Event]) -> None:
        if self._block_of and (kind != CONTINUATION or stream != self._block_of):
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "a head that does not go on")
        if kind == DATA:
            self._data(flags, stream, body, events)
        elif kind == HEADERS:
            self._headers(flags, stream, body, events)
        elif kind == CONTINUATION:
            self._goes_on(flags, stream, body, events)
        elif kind == WINDOW:
            self._more_room(stream, body, events)
        else:
            self._of_connection(kind, flags, stream, body, events)

    def _of_connection(
        self, kind: int, flags: int, stream: int, body: bytes, events: list[Event]
    ) -> None:
        """Frames that come seldom. One of a kind that nobody knows means nothing."""
        if kind == RESET:
            self._given_up(stream, body, events)
        elif kind == SETTINGS:
            self._settings(flags, stream, body, events)
        elif kind == PING:
            self._pinged(flags, stream, body)
        elif kind == PRIORITY:
            self._check_size(body, 5)
        elif kind == GOAWAY:
            events.append(Leaving())
        elif kind == PUSH:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "a client pushes nothing")

    def _goes_on(self, flags: int, stream: int, body: bytes, events: list[Event]) -> None:
        if not self._block_of:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "a head goes on that has not begun")
        self._block.append(body)
        if flags & END_HEADERS:
            self._head(stream, b"".join(self._block), self._block_ends, events)

    def _given_up(self, stream: int, body: bytes, events: list[Event]) -> None:
        self._check_size(body, 4)
        self._check_begun(stream)
        if self._open.pop(stream, None) is not None:
            events.append(Reset(stream))

    def _data(self, flags: int, stream: int, body: bytes, events: list[Event]) -> None:
        self._check_begun(stream)
        size = len(body)
        if not self._window.take(size):
            raise BadPeer(ErrorCode.FLOW_CONTROL_ERROR, "more than there was room for")
        if flags & PADDED:
            body = unpadded(body)
        opened = self._open.get(stream)
        if opened is None:
            # Sent before it knew that the stream is over.
            self._give_back(size)
            return
        if opened.has_ended:
            self._give_back(size)
            self._break(stream, ErrorCode.STREAM_CLOSED, events)
            return
        if not opened.window.take(size):
            raise BadPeer(ErrorCode.FLOW_CONTROL_ERROR, "more than there was room for")
        if size:
            events.append(Data(stream, body, size))
        if flags & END_STREAM:
            self._ended(stream, opened, events)

    def _headers(self, flags: int, stream: int, body: bytes, events: list[Event]) -> None:
        if not stream & 1:
            raise BadPeer(
                ErrorCode.PROTOCOL_ERROR, f"a client's stream has an odd number, not {stream}"
            )
        if flags & PADDED:
            body = unpadded(body)
        if flags & PRIORITISED:
            if len(body) < 5:
                raise BadPeer(ErrorCode.FRAME_SIZE_ERROR, "a head without its priority")
            body = body[5:]
        ends = flags & END_STREAM != 0
        if flags & END_HEADERS:
            self._head(stream, body, ends, events)
        else:
            self._block_of, self._block_ends = stream, ends
            self._block.append(body)

    def _head(self, stream: int, block: bytes, ends: bool, events: list[Event]) -> None:
        """A whole head; it is read in any case, since those behind it build on it."""
        self._block_of = 0
        self._block.clear()
        try:
            fields = self._fields.decode(block)
        # Each with a name of its own: mypyc gives one name one type.
        except TooManyFields as many:
            raise BadPeer(ErrorCode.ENHANCE_YOUR_CALM, str(many)) from many
        except BadFields as bad:
            raise BadPeer(ErrorCode.COMPRESSION_ERROR, str(bad)) from bad
        opened = self._open.get(stream)
        if opened is not None:
            # What follows a body; nobody looks at it.
            if opened.has_ended:
                self._break(stream, ErrorCode.STREAM_CLOSED, events)
            elif ends:
                self._ended(stream, opened, events)
            else:
                self._break(stream, ErrorCode.PROTOCOL_ERROR, events)
            return
        if stream <= self._highest:
            if ends:
                # What followed a body, sent before it knew that the stream is over.
                return
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, f"stream {stream} begins again")
        self._highest = stream
        opened = self._open[stream] = Stream(self._first_room, self._stream_window)
        if len(self._open) > self._streams or self._takes_none:
            self.reset(stream, ErrorCode.REFUSED_STREAM)
            self._intake.refused(self._now)
            return
        events.append(Began(stream, dict(fields)))
        if ends:
            self._ended(stream, opened, events)

    def _ended(self, stream: int, opened: Stream, events: list[Event]) -> None:
        opened.has_ended = True
        if opened.is_answered:
            self._open.pop(stream, None)
        events.append(Ended(stream))

    def _break(self, stream: int, code: ErrorCode, events: list[Event]) -> None:
        """A fault of the peer that concerns this stream alone; it counts as one that was given up."""
        self.reset(stream, code)
        self._intake.refused(self._now)
        events.append(Reset(stream))

    def _more_room(self, stream: int, body: bytes, events: list[Event]) -> None:
        self._check_size(body, 4)
        more = int.from_bytes(body, "big") & _LOWER_31
        if stream == 0:
            self._room += more
            if not more or self._room > WINDOW_MOST:
                raise BadPeer(ErrorCode.FLOW_CONTROL_ERROR, f"room for {more} bytes more")
            events.append(Room(0))
            return
        self._check_begun(stream)
        opened = self._open.get(stream)
        if opened is None:
            return
        opened.room += more
        if not more or opened.room > WINDOW_MOST:
            self._break(stream, ErrorCode.FLOW_CONTROL_ERROR, events)
        else:
            events.append(Room(stream))

    def _settings(self, flags: int, stream: int, body: bytes, events: list[Event]) -> None:
        if stream:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "SETTINGS of a stream")
        if flags & ACK:
            self._check_size(body, 0)
            return
        heard = heard_settings(body)
        if heard.table_bytes >= 0:
            self._encoder.header_table_size = heard.table_bytes
        if heard.window >= 0:
            change = heard.window - self._first_room
            self._first_room = heard.window
            for opened in self._open.values():
                opened.room += change
        self._say(SETTINGS, ACK, 0, b"")
        events.append(Room(0))

    def _pinged(self, flags: int, stream: int, body: bytes) -> None:
        self._check_size(body, 8)
        if stream:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, "PING of a stream")
        if not flags & ACK:
            self._say(PING, ACK, 0, body)
        elif body == _HEARD:
            self.take_no_more()

    def _check_begun(self, stream: int) -> None:
        if stream == 0 or stream > self._highest:
            raise BadPeer(ErrorCode.PROTOCOL_ERROR, f"stream {stream} has not begun")

    @staticmethod
    def _check_size(body: bytes, size: int) -> None:
        if len(body) != size:
            raise BadPeer(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {len(body)} bytes, not {size}")
