"""Records read without their body equal those read with it, except for the body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.records.bodiless import HEAD_SIZE, body_extent, parse_bodiless
from trimq.codec.records.record import encode_record, parse_record


def made(body: bytes, topic: str, sys_flag: int) -> bytes:
    born = bytes(20 if sys_flag & 0x10 else 8)
    store = bytes(20 if sys_flag & 0x20 else 8)
    return encode_record(
        topic.encode(), 3, 4, 5, 6, sys_flag, 7, born, 8, store, 9, 10, body, b"A\x01b\x02"
    )


@given(
    body=st.binary(max_size=300),
    topic=st.sampled_from(["T", "L" * 200]),
    sys_flag=st.sampled_from([0, 0x10, 0x20, 0x38]),
)
def test_everything_but_the_body(body: bytes, topic: str, sys_flag: int) -> None:
    data = made(body, topic, sys_flag)
    head = data[:HEAD_SIZE]
    start, end = body_extent(head)
    assert data[start:end] == body
    whole, bodiless = parse_record(data), parse_bodiless(head, data[end:])
    assert bodiless.body == b""
    names = [name for name in dir(whole) if not name.startswith("_") and name != "body"]
    for name in names:
        if not callable(getattr(whole, name)):
            assert getattr(bodiless, name) == getattr(whole, name), name


def test_too_little() -> None:
    with pytest.raises(CodecError):
        body_extent(bytes(90))
    with pytest.raises(CodecError):
        body_extent(bytes(39) + b"\x30" + bytes(60))
