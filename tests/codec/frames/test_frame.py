from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.frames.frame import FRAME_LIMIT, FrameBuffer


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def drain(buffer: FrameBuffer) -> list[bytes]:
    found = []
    while (frame := buffer.next_frame()) is not None:
        found.append(frame)
    return found


@given(
    contents=st.lists(st.binary(min_size=4, max_size=50), max_size=8),
    cuts=st.lists(st.integers(0, 500), max_size=12),
    eager=st.booleans(),
)
def test_frames_come_back_whole_however_the_stream_is_cut(contents, cuts, eager):
    stream = b"".join(map(framed, contents))
    ends = [*sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    buffer = FrameBuffer()
    found = []
    start = 0
    for end in ends:
        buffer.feed(stream[start:end])
        start = end
        if eager:
            found += drain(buffer)
    found += drain(buffer)
    assert found == contents
    assert buffer.is_empty


@given(stream=st.binary(max_size=300), step=st.integers(1, 20))
def test_random_bytes_give_frames_or_one_typed_error(stream, step):
    buffer = FrameBuffer(limit=100)
    with suppress(CodecError):
        for start in range(0, len(stream), step):
            buffer.feed(stream[start : start + step])
            for frame in drain(buffer):
                assert 4 <= len(frame) <= 96


@pytest.mark.parametrize("length", [0, 3, 97, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_a_length_out_of_bounds_is_refused_before_its_bytes_are_there(length):
    buffer = FrameBuffer(limit=100)
    buffer.feed(length.to_bytes(4, "big"))
    with pytest.raises(CodecError, match=f"frame length of {length} "):
        buffer.next_frame()


def test_the_limit_counts_the_length_word():
    buffer = FrameBuffer()
    buffer.feed((FRAME_LIMIT - 4).to_bytes(4, "big"))
    assert buffer.next_frame() is None
    assert not buffer.is_empty


def test_nothing_fed_gives_nothing():
    buffer = FrameBuffer()
    assert buffer.next_frame() is None
    buffer.feed(b"")
    assert buffer.next_frame() is None
    assert buffer.is_empty
