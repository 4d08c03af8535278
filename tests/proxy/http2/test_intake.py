"""Frames are looked at before anything is done with them, however the bytes come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.http2.frames import (
    CONTINUATION,
    DATA,
    GOAWAY,
    GREETING,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    RESET,
    SETTINGS,
    WINDOW,
    frame,
)
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.intake import Frame, Intake

BOUNDS = Http2Bounds(head_bytes=2000, resets=1, idle_frames=2)


def bytes_of(frames: list[Frame]) -> bytes:
    return b"".join(frame(kind, body, flags, stream) for kind, flags, stream, body in frames)


def passed(data: bytes, bounds: Http2Bounds = BOUNDS, now: float = 0.0) -> bytes:
    """With the preface that it began with."""
    intake = Intake(bounds)
    return PREFACE + b"".join(map(bytes_of, intake.cut(data, now)))


FRAMES = st.lists(
    st.sampled_from(
        [
            frame(DATA, bytes(100), stream=1),
            frame(HEADERS, b"abc", 4, 1),
            frame(HEADERS, b"abc", 0, 1) + frame(CONTINUATION, b"def", 4, 1),
            frame(GOAWAY, bytes(8)),
            frame(GOAWAY, bytes(30)),
            frame(DATA, b"", 1, 1),
        ]
    ),
    max_size=80,
)


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 60), min_size=1))
def test_however_the_bytes_come(frames: list[bytes], cuts: list[int]) -> None:
    data = GREETING + b"".join(frames)
    intake = Intake(Http2Bounds())
    found, at, turn = PREFACE, 0, 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        for some in intake.cut(data[at : at + size], 0.0):
            found += bytes_of(some)
        at, turn = at + size, turn + 1
    assert found == data


def test_many_frames_come_in_several_steps() -> None:
    data = GREETING + frame(HEADERS, b"a", 5, 1) * 100
    steps = [bytes_of(some) for some in Intake(BOUNDS).cut(data, 0.0)]
    assert len(steps) > 3
    assert PREFACE + b"".join(steps) == data


@pytest.mark.parametrize(
    ("flood", "code"),
    [
        (frame(PING, bytes(8)) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(SETTINGS) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        # A few large ones cost as much as many small ones.
        (frame(SETTINGS, bytes(6) * 300), ErrorCode.ENHANCE_YOUR_CALM),
        (frame(PRIORITY, bytes(5), stream=1) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(WINDOW, b"\0\0\0\1") * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(DATA, b"", stream=1) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(DATA, b"\3\0\0\0", 8, 1) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(DATA, b"x", stream=1) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(GOAWAY, bytes(8)) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        # A kind that nobody knows.
        (frame(99) * 30, ErrorCode.ENHANCE_YOUR_CALM),
        (frame(RESET, bytes(4), stream=1) * 15, ErrorCode.ENHANCE_YOUR_CALM),
        (
            frame(HEADERS, b"a", 0, 1) + frame(CONTINUATION, b"a" * 100, 0, 1) * 30,
            ErrorCode.ENHANCE_YOUR_CALM,
        ),
        (
            frame(HEADERS, b"", 0, 1) + frame(CONTINUATION, b"", 0, 1) * 2100,
            ErrorCode.ENHANCE_YOUR_CALM,
        ),
        (frame(HEADERS, b"a" * 2001, 4, 1), ErrorCode.ENHANCE_YOUR_CALM),
        # It does not wait for the frame's end.
        (frame(DATA, bytes(16385), stream=1)[:20], ErrorCode.FRAME_SIZE_ERROR),
    ],
)
def test_a_flood_ends_it(flood: bytes, code: ErrorCode) -> None:
    with pytest.raises(BadPeer) as caught:
        passed(GREETING + flood)
    assert caught.value.code == code


def test_less_is_no_flood() -> None:
    data = GREETING + frame(PING, bytes(8)) * 10 + frame(RESET, bytes(4), stream=1) * 9
    assert passed(data) == data


def test_with_time_more_may_come() -> None:
    intake = Intake(BOUNDS)
    list(intake.cut(GREETING, 0.0))
    for second in range(100):
        list(intake.cut(frame(PING, bytes(8)), float(second)))


def test_what_we_send_may_be_answered() -> None:
    intake = Intake(BOUNDS)
    list(intake.cut(GREETING, 0.0))
    for _ in range(100):
        intake.answered()
        list(intake.cut(frame(WINDOW, b"\0\0\0\1"), 0.0))


def test_the_first_frame_is_settings() -> None:
    with pytest.raises(BadPeer, match="SETTINGS"):
        passed(PREFACE + frame(PING, bytes(8)))
    intake = Intake(BOUNDS)
    list(intake.cut(PREFACE, 0.0))
    assert not intake.is_greeted
    list(intake.cut(frame(SETTINGS), 0.0))
    assert intake.is_greeted


@pytest.mark.parametrize(
    "data",
    [
        # A 4.x client's request: its length, its header's length, its header.
        b'\0\x37\x2e\x70\0\0\0\x64{"code":34}',
        b"\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/1.1\r\n\r\n",
        PREFACE[:-1] + b"x" + frame(SETTINGS),
    ],
)
def test_what_is_no_http2_is_told_apart_by_its_first_bytes(data: bytes) -> None:
    for step in (1, len(data)):
        intake = Intake(BOUNDS)
        pieces = (data[at : at + step] for at in range(0, len(data), step))
        with pytest.raises(BadPeer, match=r"this is not HTTP/2: 4\.x clients belong to") as failed:
            _ = [list(intake.cut(piece, 0.0)) for piece in pieces]
        assert failed.value.code == ErrorCode.PROTOCOL_ERROR
