"""Messages in a body, however it is cut."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.grpc.peer import framed
from trimq.proxy.grpc.frames import BrokenBody, Messages, Unreadable, frame, packed, unpacked


@given(
    texts=st.lists(st.binary(max_size=40), max_size=12),
    cuts=st.lists(st.integers(1, 70), min_size=1),
)
def test_however_it_is_cut(texts: list[bytes], cuts: list[int]) -> None:
    body = b"".join(frame(text) for text in texts)
    messages = Messages(40, packs=False)
    found, at, turn = [], 0, 0
    while at < len(body):
        size = cuts[turn % len(cuts)]
        found += messages.feed(body[at : at + size])
        at, turn = at + size, turn + 1
    assert [(False, text) for text in texts] == found
    assert messages.size == 0


def test_what_is_not_whole_is_counted() -> None:
    messages = Messages(100, packs=False)
    assert messages.feed(frame(b"first") + frame(b"second")[:-2]) == [(False, b"first")]
    assert messages.size == 9
    assert messages.feed(b"nd") == [(False, b"second")]
    assert messages.size == 0


@pytest.mark.parametrize(
    ("body", "packs"),
    [
        (framed(b"", 2), True),
        (framed(b"", 1), False),
        (framed(b"x" * 101), True),
        # Known before any of it has come.
        (framed(b"x" * 101)[:5], True),
    ],
)
def test_what_cannot_be_a_message(body: bytes, *, packs: bool) -> None:
    with pytest.raises(BrokenBody):
        Messages(100, packs=packs).feed(body)


def test_a_large_one_is_put_together_without_being_copied_each_time() -> None:
    messages = Messages(1 << 24, packs=False)
    body = framed(bytes(1 << 24))
    pieces = [body[at : at + 1000] for at in range(0, len(body), 1000)]
    found = [message for piece in pieces for message in messages.feed(piece)]
    assert [(flag, len(text)) for flag, text in found] == [(False, 1 << 24)]


def test_packed() -> None:
    ((is_packed, text),) = Messages(100, packs=True).feed(packed(b"text"))
    assert is_packed
    assert unpacked(text, 4) == b"text"
    with pytest.raises(Unreadable):
        unpacked(text, 3)
    with pytest.raises(Unreadable):
        unpacked(gzip.compress(b"text")[:-1], 100)
    with pytest.raises(BrokenBody):
        unpacked(b"no gzip", 100)
