"""The server's side of HTTP/2, told by the library's client."""

from __future__ import annotations

import h2.config
import h2.connection
import h2.events
import pytest

from tests.proxy.http2.frames import GREETING, HEADERS, WINDOW, frame
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.connection import Http2Connection
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room

HEAD = [(":method", "POST"), (":scheme", "http"), (":path", "/a"), (":authority", "b")]
STATUS = [(b":status", b"200")]


class Ends:
    """A client and our server."""

    def __init__(self, bounds: Http2Bounds = Http2Bounds()) -> None:  # noqa: B008 - it is frozen
        self.client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.server = Http2Connection(bounds)
        self.client.initiate_connection()
        self.said: list[h2.events.Event] = []
        self.talk()

    def talk(self) -> list[Event]:
        """Until none has more to say; what the server heard."""
        heard: list[Event] = []
        while True:
            ours, theirs = self.client.data_to_send(), self.server.outgoing()
            if not ours and not theirs:
                return heard
            if ours:
                for events in self.server.receive(ours, 0.0):
                    heard += events
            if theirs:
                self.said += self.client.receive_data(theirs)

    def open(self, *, ends: bool = False) -> int:
        stream: int = self.client.get_next_available_stream_id()
        self.client.send_headers(stream, HEAD, end_stream=ends)
        return stream

    def seen(self, kind: type) -> list[h2.events.Event]:
        return [event for event in self.said if isinstance(event, kind)]


def test_a_request_and_its_answer() -> None:
    ends = Ends()
    stream = ends.open()
    ends.client.send_data(stream, b"question", end_stream=True)
    began, data, ended = ends.talk()
    assert isinstance(began, Began)
    assert began.fields[b":path"] == b"/a"
    assert data == Data(stream, b"question", 8)
    assert ended == Ended(stream)
    ends.server.send_head(stream, STATUS)
    ends.server.send_data(stream, b"answer")
    ends.server.send_head(stream, [(b"grpc-status", b"0")], ended=True)
    ends.talk()
    (answer,) = ends.seen(h2.events.DataReceived)
    assert answer.data == b"answer"
    assert ends.seen(h2.events.StreamEnded)


def test_too_many_streams_are_refused_and_the_others_go_on() -> None:
    ends = Ends(Http2Bounds(streams=3))
    # Before the client has heard of the bound.
    ends.client.remote_settings = h2.connection.Settings(
        client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100}
    )
    streams = [ends.open() for _ in range(5)]
    heard = ends.talk()
    assert [event.stream for event in heard if isinstance(event, Began)] == streams[:3]
    refused = [(event.stream_id, event.error_code) for event in ends.seen(h2.events.StreamReset)]
    assert refused == [(stream, ErrorCode.REFUSED_STREAM) for stream in streams[3:]]
    ends.client.reset_stream(streams[0])
    last = ends.open()
    assert [type(event) for event in ends.talk()] == [Reset, Began]
    ends.server.send_head(last, STATUS, ended=True)
    ends.talk()
    assert ends.seen(h2.events.StreamEnded)


def test_many_refused_streams_end_it() -> None:
    ends = Ends(Http2Bounds(streams=1, resets=1))
    ends.client.remote_settings = h2.connection.Settings(
        client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100}
    )
    for _ in range(20):
        ends.open()
    with pytest.raises(BadPeer, match="come to nothing") as caught:
        ends.talk()
    assert caught.value.code == ErrorCode.ENHANCE_YOUR_CALM


def test_rapid_reset_ends_it() -> None:
    ends = Ends(Http2Bounds(resets=1))
    for _ in range(20):
        ends.client.reset_stream(ends.open())
    with pytest.raises(BadPeer, match="come to nothing"):
        ends.talk()
    ends.said += ends.client.receive_data(ends.server.outgoing())
    (end,) = ends.seen(h2.events.ConnectionTerminated)
    assert end.error_code == ErrorCode.ENHANCE_YOUR_CALM


def test_streams_that_break_for_a_fault_of_the_peer_count_too() -> None:
    ends = Ends(Http2Bounds(resets=1))
    # More room than there can be: a fault of this stream alone.
    floods = []
    for _ in range(20):
        stream = ends.open()
        ours = ends.client.data_to_send() + frame(WINDOW, b"\x7f\xff\xff\xff", stream=stream)
        floods.append(ours)
    with pytest.raises(BadPeer, match="come to nothing"):
        list(ends.server.receive(b"".join(floods), 0.0))


def test_a_head_that_is_large_when_unpacked() -> None:
    ends = Ends(Http2Bounds(head_bytes=4000))
    # The second time each field is one byte.
    fields = [(f"x-{at}", "y" * 400) for at in range(4)]
    ends.client.send_headers(1, HEAD + fields)
    ends.talk()
    ends.client.send_headers(3, HEAD + fields * 5)
    with pytest.raises(BadPeer) as caught:
        ends.talk()
    assert caught.value.code == ErrorCode.ENHANCE_YOUR_CALM


def test_room_is_given_back_when_it_is_said() -> None:
    ends = Ends(Http2Bounds(stream_window=10_000, connection_window=1 << 20))
    stream = ends.open()
    ends.talk()
    ends.client.send_data(stream, bytes(10_000))
    ends.talk()
    assert ends.client.local_flow_control_window(stream) == 0
    ends.server.consumed(stream, 10_000)
    ends.talk()
    assert ends.client.local_flow_control_window(stream) == 10_000


def test_no_more_is_sent_than_there_is_room_for() -> None:
    ends = Ends()
    stream = ends.open(ends=True)
    ends.talk()
    ends.server.send_head(stream, STATUS)
    sent = 0
    while room := ends.server.room(stream):
        ends.server.send_data(stream, bytes(room))
        sent += room
    assert sent == 65535
    assert ends.server.room(99) == 0
    ends.talk()
    ends.client.increment_flow_control_window(1000)
    ends.client.increment_flow_control_window(1000, stream)
    assert ends.talk() == [Room(0), Room(stream)]
    assert ends.server.room(stream) == 1000


def test_leaving_takes_what_is_under_way() -> None:
    ends = Ends()
    first = ends.open()
    ends.talk()
    ends.server.leave()
    told = ends.server.outgoing()
    # It has not read so yet.
    second = ends.open()
    for events in ends.server.receive(ends.client.data_to_send(), 0.0):
        assert [type(event) for event in events] == [Began]
    assert not ends.server.takes_no_more
    # The library's client would end all streams with the first GOAWAY.
    goaway, ping = told[:17], told[17:]
    assert goaway[3] == 7
    assert int.from_bytes(goaway[9:13], "big") == 2**31 - 1
    ends.client.receive_data(ping)
    for _ in ends.server.receive(ends.client.data_to_send(), 0.0):
        pass
    assert ends.server.takes_no_more
    last = ends.server.outgoing()
    assert int.from_bytes(last[9:13], "big") == second
    for stream in (first, second):
        ends.server.send_head(stream, STATUS, ended=True)
    ends.said += ends.client.receive_data(ends.server.outgoing())
    assert len(ends.seen(h2.events.StreamEnded)) == 2


def test_streams_after_the_last_word_are_refused() -> None:
    ends = Ends()
    ends.server.take_no_more()
    ends.server.outgoing()
    ends.open()
    assert ends.talk() == []
    assert ends.seen(h2.events.StreamReset)


def test_streams_go_on_when_the_client_opens_no_more() -> None:
    ends = Ends()
    stream = ends.open()
    ends.talk()
    ends.server.send_head(stream, STATUS)
    goaway = frame(7, bytes(8))
    assert list(ends.server.receive(goaway, 0.0)) == [[Leaving()]]
    ends.server.send_data(stream, b"more")
    ends.talk()
    (answer,) = ends.seen(h2.events.DataReceived)
    assert answer.data == b"more"


@pytest.mark.parametrize(
    "wrong",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        GREETING + frame(HEADERS, b"\xff\xff\xff", 5, 1),
        GREETING + frame(HEADERS, b"", 5, 2),
        GREETING + frame(9, b"", 4, 1),
    ],
)
def test_what_is_no_http2_ends_it(wrong: bytes) -> None:
    server = Http2Connection()
    with pytest.raises(BadPeer):
        list(server.receive(wrong, 0.0))
    # GOAWAY comes last.
    assert server.outgoing()[-17:][3] == 7


def test_a_sign_of_life_is_answered_and_asked_for() -> None:
    ends = Ends()
    ends.client.ping(b"12345678")
    ends.server.ping()
    ends.talk()
    (answer,) = ends.seen(h2.events.PingAckReceived)
    assert answer.ping_data == b"12345678"
    assert ends.seen(h2.events.PingReceived)
