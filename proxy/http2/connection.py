"""The server's side of one HTTP/2 connection, over the library h2.

Everything else of the proxy sees this class and its events, not the library: the transport may be exchanged.
"""

import contextlib
import struct
from collections.abc import Iterator
from typing import Final

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room
from trimq.proxy.http2.fields import FieldsReader
from trimq.proxy.http2.heads import Field, Fields, HeadEncoder
from trimq.proxy.http2.intake import AT_ONCE, Intake

# What one frame of an answer holds at most: several answers take turns.
FRAME_MOST: Final = 16 * 1024
_GOAWAY: Final = struct.Struct(">BHBBIII")
_LAST_OF_ALL: Final = 2**31 - 1
# The question whose answer shows that a peer has read that we leave; the other one: whether it is there.
_HEARD: Final = b"leaving?"
_THERE: Final = b"are you?"
# How far a stream is over.
_THEIRS, _OURS, _BOTH = 1, 2, 3


class Http2Connection:
    """Bytes in, events out. `known`: heads that are sent often."""

    def __init__(
        self,
        bounds: Http2Bounds = Http2Bounds(),  # noqa: B008 - it is frozen
        known: frozenset[tuple[Field, ...]] = frozenset(),
    ) -> None:
        self._streams = bounds.streams
        self._intake = Intake(bounds)
        self._now = 0.0
        self._open: dict[int, int] = {}
        self._out: list[bytes] = []
        self._leaves = self._takes_none = False
        self._h2 = _opened(bounds)
        self._h2.encoder = HeadEncoder(known)  # type: ignore[assignment]

    def receive(self, data: bytes, now: float) -> Iterator[list[Event]]:
        """What these bytes say, in steps between which others may have their turn. `now` in seconds.

        BadPeer when the connection cannot go on.
        """
        self._now = now
        try:
            for piece, is_leaving in self._intake.cut(data, now):
                events: list[Event] = []
                for event in self._h2.receive_data(piece):
                    self._tell(event, events)
                if is_leaving:
                    events.append(Leaving())
                yield events
        except h2.exceptions.ProtocolError as error:
            self.end(ErrorCode.PROTOCOL_ERROR)
            code = ErrorCode.PROTOCOL_ERROR
            if isinstance(error, h2.exceptions.DenialOfServiceError):
                code = ErrorCode.ENHANCE_YOUR_CALM
            raise BadPeer(code, str(error)) from error
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
        data: bytes = self._h2.data_to_send()
        if not self._out:
            return data
        self._out.append(data)
        data = b"".join(self._out)
        self._out.clear()
        return data

    def consumed(self, stream: int, size: int) -> None:
        """The peer may send as much again."""
        if size:
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self._h2.acknowledge_received_data(size, stream)

    def room(self, stream: int) -> int:
        """How many bytes of a body may be sent now, of one frame at most; 0 for a stream that has gone."""
        try:
            return max(0, min(self._h2.local_flow_control_window(stream), FRAME_MOST))
        except h2.exceptions.ProtocolError:
            return 0

    def send_head(self, stream: int, fields: Fields, ended: bool = False) -> None:
        """The head of an answer, or what follows its body. Nothing when the stream has gone."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.send_headers(stream, fields, end_stream=ended)
            if ended:
                self._is_over(stream, _OURS)

    def send_data(self, stream: int, data: bytes) -> None:
        """A piece of an answer's body, no longer than there is room for."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.send_data(stream, data)
            self._intake.answered()

    def reset(self, stream: int, code: ErrorCode = ErrorCode.CANCEL) -> None:
        """Give a stream up; nothing when it is over."""
        if self._open.pop(stream, None) is not None:
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self._h2.reset_stream(stream, int(code))

    def leave(self) -> None:
        """Tell the peer that it shall go elsewhere; streams that it has opened before it reads so are still taken."""
        if not self._leaves:
            self._leaves = True
            self._go_away(_LAST_OF_ALL, ErrorCode.NO_ERROR)
            self._ask(_HEARD)

    def take_no_more(self) -> None:
        """Streams that are opened from now on are refused."""
        if not self._takes_none:
            self._leaves = self._takes_none = True
            self._go_away(self._h2.highest_inbound_stream_id, ErrorCode.NO_ERROR)

    def end(self, code: ErrorCode) -> None:
        """Tell the peer why the connection ends at once."""
        self._takes_none = True
        self._go_away(self._h2.highest_inbound_stream_id, code)

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._ask(_THERE)

    def _ask(self, question: bytes) -> None:
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.ping(question)

    def _go_away(self, last: int, code: ErrorCode) -> None:
        # h2's own ends all streams, also those under way.
        frame = _GOAWAY.pack(0, 8, 7, 0, 0, last, int(code))
        self._out += (self._h2.data_to_send(), frame)

    def _tell(self, event: h2.events.Event, events: list[Event]) -> None:
        kind = type(event)
        stream: int = getattr(event, "stream_id", 0) or 0
        if kind is h2.events.DataReceived:
            size = event.flow_controlled_length or 0  # type: ignore[attr-defined]
            events.append(Data(stream, event.data or b"", size))  # type: ignore[attr-defined]
        elif kind is h2.events.RequestReceived:
            if self._is_taken(stream):
                events.append(Began(stream, dict(event.headers)))  # type: ignore[attr-defined]
        elif kind is h2.events.StreamEnded:
            self._is_over(stream, _THEIRS)
            events.append(Ended(stream))
        elif kind is h2.events.WindowUpdated:
            events.append(Room(stream))
        elif kind is h2.events.StreamReset:
            if not event.remote_reset:  # type: ignore[attr-defined]
                self._intake.refused(self._now)
            self._open.pop(stream, None)
            events.append(Reset(stream))
        elif kind is h2.events.RemoteSettingsChanged:
            events.append(Room(0))
        elif kind is h2.events.PingAckReceived and event.ping_data == _HEARD:  # type: ignore[attr-defined]
            self.take_no_more()

    def _is_taken(self, stream: int) -> bool:
        self._open[stream] = 0
        if len(self._open) > self._streams or self._takes_none:
            self.reset(stream, ErrorCode.REFUSED_STREAM)
            self._intake.refused(self._now)
            return False
        return True

    def _is_over(self, stream: int, side: int) -> None:
        before = self._open.get(stream)
        if before is None:
            return
        if before | side == _BOTH:
            del self._open[stream]
        else:
            self._open[stream] = before | side


def _opened(bounds: Http2Bounds) -> h2.connection.H2Connection:
    """A connection that has said its settings."""
    config = h2.config.H2Configuration(
        client_side=False,
        header_encoding=None,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
        normalize_inbound_headers=False,
        # It would end the connection for a space in front of a value; what calls need is looked at where they begin.
        validate_inbound_headers=False,
    )
    opened = h2.connection.H2Connection(config=config)
    opened.local_settings = _settings(bounds, bounds.streams)
    opened.initiate_connection()
    opened.increment_flow_control_window(bounds.connection_window)
    # One stream more than was said ends no connection: it is refused (_is_taken), as soon as a piece is done with.
    opened.local_settings = _settings(bounds, bounds.streams + AT_ONCE)
    opened.decoder = FieldsReader(bounds.head_bytes)  # type: ignore[assignment]
    return opened


def _settings(bounds: Http2Bounds, streams: int) -> h2.settings.Settings:
    codes = h2.settings.SettingCodes
    return h2.settings.Settings(
        client=False,
        initial_values={
            codes.MAX_CONCURRENT_STREAMS: streams,
            codes.INITIAL_WINDOW_SIZE: bounds.stream_window,
            codes.MAX_HEADER_LIST_SIZE: bounds.head_bytes,
            codes.ENABLE_PUSH: 0,
        },
    )
