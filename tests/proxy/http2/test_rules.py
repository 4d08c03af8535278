"""What the standard asks of a server, frame by frame, and whatever else may come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.http2.frames import (
    CONTINUATION,
    DATA,
    GREETING,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH,
    RESET,
    SETTINGS,
    WINDOW,
    frame,
)
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.connection import Http2Connection
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.events import Began, Data, Ended, Event, Reset, Room

# `:method: POST`, of the static table.
FIELDS = b"\x83"
ENDS, ENDS_HEAD, PADDED, PRIORITISED, ACK = 1, 4, 8, 0x20, 1
OPENED = GREETING + frame(HEADERS, FIELDS, ENDS_HEAD, 1)
CLOSED = GREETING + frame(HEADERS, FIELDS, ENDS_HEAD | ENDS, 1)


def heard(data: bytes, server: Http2Connection | None = None) -> list[Event]:
    server = server or Http2Connection()
    return [event for events in server.receive(data, 0.0) for event in events]


def entry(key: int, value: int) -> bytes:
    return key.to_bytes(2, "big") + value.to_bytes(4, "big")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (PREFACE[:-2] + b"xx" + frame(SETTINGS), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(DATA, b"x", 0, 0), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(DATA, b"x", 0, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(HEADERS, FIELDS, ENDS_HEAD, 0), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(HEADERS, FIELDS, ENDS_HEAD, 2), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(HEADERS, b"\x05abc", ENDS_HEAD | PADDED, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(HEADERS, b"", ENDS_HEAD | PADDED, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(HEADERS, b"abc", ENDS_HEAD | PRIORITISED, 1), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(HEADERS, b"\x80", ENDS_HEAD, 1), ErrorCode.COMPRESSION_ERROR),
        (GREETING + frame(HEADERS, FIELDS, 0, 1) + frame(DATA, b"", 0, 1), ErrorCode.PROTOCOL_ERROR),
        (
            GREETING + frame(HEADERS, FIELDS, 0, 1) + frame(CONTINUATION, b"", ENDS_HEAD, 3),
            ErrorCode.PROTOCOL_ERROR,
        ),
        (GREETING + frame(CONTINUATION, b"", ENDS_HEAD, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(PRIORITY, b"1234", 0, 1), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(RESET, bytes(4), 0, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(RESET, bytes(4), 0, 0), ErrorCode.PROTOCOL_ERROR),
        (OPENED + frame(RESET, bytes(3), 0, 1), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(SETTINGS, bytes(5)), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(SETTINGS, bytes(6), ACK), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(SETTINGS, b"", 0, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(SETTINGS, entry(2, 2)), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(SETTINGS, entry(4, 2**31)), ErrorCode.FLOW_CONTROL_ERROR),
        (GREETING + frame(SETTINGS, entry(5, 100)), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(PUSH, bytes(4), 0, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(PING, bytes(7)), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(PING, bytes(8), 0, 1), ErrorCode.PROTOCOL_ERROR),
        (GREETING + frame(WINDOW, bytes(3)), ErrorCode.FRAME_SIZE_ERROR),
        (GREETING + frame(WINDOW, bytes(4)), ErrorCode.FLOW_CONTROL_ERROR),
        (GREETING + frame(WINDOW, b"\x7f\xff\xff\xff"), ErrorCode.FLOW_CONTROL_ERROR),
        (GREETING + frame(WINDOW, bytes(4), 0, 1), ErrorCode.PROTOCOL_ERROR),
        (OPENED + frame(HEADERS, FIELDS, ENDS_HEAD | ENDS, 3) + frame(RESET, bytes(4), 0, 3)
         + frame(HEADERS, FIELDS, ENDS_HEAD, 3), ErrorCode.PROTOCOL_ERROR),
        (OPENED + frame(DATA, b"\x05abc", PADDED, 1), ErrorCode.PROTOCOL_ERROR),
    ],
)  # fmt: skip
def test_what_ends_the_connection(data: bytes, code: ErrorCode) -> None:
    server = Http2Connection()
    with pytest.raises(BadPeer) as caught:
        heard(data, server)
    assert caught.value.code == code
    last = server.outgoing()[-17:]
    assert (last[3], int.from_bytes(last[13:], "big")) == (7, code)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (CLOSED + frame(DATA, b"x", 0, 1), ErrorCode.STREAM_CLOSED),
        (CLOSED + frame(HEADERS, FIELDS, ENDS_HEAD | ENDS, 1), ErrorCode.STREAM_CLOSED),
        (OPENED + frame(HEADERS, FIELDS, ENDS_HEAD, 1), ErrorCode.PROTOCOL_ERROR),
        (OPENED + frame(WINDOW, bytes(4), 0, 1), ErrorCode.FLOW_CONTROL_ERROR),
        (OPENED + frame(WINDOW, b"\x7f\xff\xff\xff", 0, 1), ErrorCode.FLOW_CONTROL_ERROR),
    ],
)
def test_what_ends_one_stream(data: bytes, code: ErrorCode) -> None:
    server = Http2Connection()
    assert heard(data, server)[-1] == Reset(1)
    assert server.outgoing()[-13:] == frame(RESET, int(code).to_bytes(4, "big"), 0, 1)
    # Another one begins.
    (began,) = heard(frame(HEADERS, FIELDS, ENDS_HEAD, 3), server)
    assert isinstance(began, Began)


def test_more_than_there_was_room_for() -> None:
    server = Http2Connection(Http2Bounds(stream_window=70_000))
    flood = b"".join(frame(DATA, bytes(16_000), 0, 1) for _ in range(5))
    with pytest.raises(BadPeer) as caught:
        heard(OPENED + flood, server)
    assert caught.value.code == ErrorCode.FLOW_CONTROL_ERROR


def test_padding_counts_and_is_left_out() -> None:
    padded = frame(DATA, b"\x03abcxyz", PADDED | ENDS, 1)
    head = frame(HEADERS, b"\x02" + bytes(5) + FIELDS + b"xx", PADDED | PRIORITISED | ENDS_HEAD, 1)
    _, began, data, ended = heard(GREETING + head + padded)
    assert isinstance(began, Began)
    assert (data, ended) == (Data(1, b"abc", 7), Ended(1))


def test_what_is_on_its_way_to_a_stream_that_is_over_is_given_back() -> None:
    bounds = Http2Bounds(connection_window=100_000)
    server = Http2Connection(bounds)
    heard(OPENED, server)
    server.reset(1)
    server.outgoing()
    # More in all than there is room for at a time.
    for _ in range(20):
        assert heard(frame(DATA, bytes(16_000), 0, 1), server) == []
    assert frame(WINDOW, (64_000).to_bytes(4, "big")) in server.outgoing()
    assert heard(frame(HEADERS, FIELDS, ENDS_HEAD | ENDS, 1), server) == []
    assert heard(frame(WINDOW, bytes(4), 0, 1), server) == []


def test_first_rooms_change_for_all_streams() -> None:
    server = Http2Connection()
    heard(OPENED, server)
    assert heard(frame(SETTINGS, entry(4, 10) + entry(99, 1)), server) == [Room(0)]
    assert server.room(1) == 10
    server.send_head(1, [(b":status", b"200")])
    server.send_data(1, bytes(10))
    heard(frame(SETTINGS, entry(4, 5)), server)
    # Below nothing.
    assert server.room(1) == 0
    heard(frame(WINDOW, (6).to_bytes(4, "big"), 0, 1), server)
    assert server.room(1) == 1


def test_a_head_of_several_frames() -> None:
    server = Http2Connection()
    heard(OPENED, server)
    server.send_head(1, [(b"a", b"b" * 40_000)])
    out = server.outgoing()
    kinds = []
    at = 0
    while at < len(out):
        kinds.append((out[at + 3], out[at + 4]))
        at += 9 + int.from_bytes(out[at : at + 3], "big")
    assert kinds[-3:] == [(HEADERS, 0), (CONTINUATION, 0), (CONTINUATION, ENDS_HEAD)]


FRAMES = st.builds(
    frame,
    st.integers(0, 11),
    st.one_of(st.binary(max_size=12), st.just(FIELDS), st.just(bytes(4)), st.just(bytes(8))),
    st.integers(0, 255),
    st.integers(0, 7),
)


@given(frames=st.lists(FRAMES, max_size=30), size=st.integers(1, 40))
def test_whatever_comes_ends_by_a_word_or_not_at_all(frames: list[bytes], size: int) -> None:
    data = GREETING + b"".join(frames)
    whole, pieces = Http2Connection(), Http2Connection()
    told: list[list[Event]] = [[], []]
    ends: list[str] = ["", ""]
    for which, server in enumerate((whole, pieces)):
        step = len(data) if which == 0 else size
        try:
            for at in range(0, len(data), step):
                for events in server.receive(data[at : at + step], 0.0):
                    told[which] += events
        except BadPeer as error:
            ends[which] = str(error)
    assert ends[0] == ends[1]
    # What was said before the end, but for the piece that ended it.
    shorter = min(len(told[0]), len(told[1]))
    assert told[0][:shorter] == told[1][:shorter]
    if not ends[0]:
        assert told[0] == told[1]
        assert whole.outgoing() == pieces.outgoing()
