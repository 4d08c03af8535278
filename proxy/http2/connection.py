"""The server's side of one HTTP/2 connection, over the library h2.

Everything else of the proxy sees this class and its events, not the library: the transport may be exchanged.
"""

import contextlib
from typing import Final

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room

_NOTHING: Final[list[Event]] = []

Fields = list[tuple[bytes, bytes]]


class BadPeer(Exception):
    """The peer broke the protocol or a bound; `outgoing` holds what to tell it before the end."""


class Http2Connection:
    """Bytes in, events out. `window`: bytes that a peer may send ahead, on a stream and on all together."""

    def __init__(
        self, window: int = 1 << 20, streams: int = 1000, header_bytes: int = 64 * 1024
    ) -> None:
        config = h2.config.H2Configuration(
            client_side=False,
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self._h2 = h2.connection.H2Connection(config=config)
        settings = h2.settings.SettingCodes
        self._h2.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                settings.MAX_CONCURRENT_STREAMS: streams,
                settings.INITIAL_WINDOW_SIZE: window,
                settings.MAX_HEADER_LIST_SIZE: header_bytes,
                settings.ENABLE_PUSH: 0,
            },
        )
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(window)

    def receive(self, data: bytes) -> list[Event]:
        """What these bytes say; BadPeer when the connection cannot go on."""
        try:
            found = self._h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            raise BadPeer(str(error)) from error
        events: list[Event] = []
        for event in found:
            told = self._told(event)
            if told is not None:
                events.append(told)
        return events

    def outgoing(self) -> bytes:
        """What has to be sent now."""
        return self._h2.data_to_send()

    def consumed(self, stream: int, size: int) -> None:
        """The peer may send as much again."""
        if size:
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self._h2.acknowledge_received_data(size, stream)

    def room(self, stream: int) -> int:
        """How many bytes of a body may be sent now; 0 for a stream that has gone."""
        try:
            return min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
        except h2.exceptions.ProtocolError:
            return 0

    def send_head(self, stream: int, fields: Fields, ended: bool = False) -> None:
        """The head of an answer, or what follows its body. Nothing when the stream has gone."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.send_headers(stream, fields, end_stream=ended)

    def send_data(self, stream: int, data: bytes) -> None:
        """A piece of an answer's body, no longer than there is room for."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.send_data(stream, data)

    def reset(self, stream: int, code: int = h2.errors.ErrorCodes.CANCEL) -> None:
        """Give a stream up."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.reset_stream(stream, code)

    def leave(self, code: int = h2.errors.ErrorCodes.NO_ERROR) -> None:
        """Tell the peer that no more streams are taken (GOAWAY)."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.close_connection(code)

    def ping(self) -> None:
        """Ask for a sign of life."""
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self._h2.ping(b"trimq-up")

    def _told(self, event: h2.events.Event) -> Event | None:
        match event:
            case h2.events.RequestReceived():
                return Began(_number(event.stream_id), dict(_pairs(event.headers)))
            case h2.events.DataReceived():
                size = event.flow_controlled_length or 0
                return Data(_number(event.stream_id), event.data or b"", size)
            case h2.events.StreamEnded():
                return Ended(_number(event.stream_id))
            case h2.events.StreamReset():
                return Reset(_number(event.stream_id))
            case h2.events.WindowUpdated():
                return Room(_number(event.stream_id))
            case h2.events.RemoteSettingsChanged():
                return Room(0)
            case h2.events.ConnectionTerminated():
                return Leaving()
            case _:
                return None


def _number(stream: int | None) -> int:
    return stream or 0


def _pairs(fields: object) -> list[tuple[bytes, bytes]]:
    return [(bytes(name), bytes(value)) for name, value in fields or ()]  # type: ignore[attr-defined]
