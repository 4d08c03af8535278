"""Heads are read as hpack reads them, whatever they are."""

from __future__ import annotations

import hpack
import pytest
from hpack.exceptions import HPACKError
from hypothesis import given
from hypothesis import strategies as st

from trimq.proxy.http2.fields import BadFields, FieldsReader, TooManyFields

MOST = 2000
NAMES = st.sampled_from([b":path", b":method", b"content-type", b"x-mq-client-id", b"grpc-timeout"])
VALUES = st.one_of(
    st.sampled_from([b"", b"POST", b"application/grpc", b"y" * 127, b"y" * 300]),
    st.binary(max_size=40),
)
FIELDS = st.lists(
    st.tuples(st.one_of(NAMES, st.binary(min_size=1, max_size=8)), VALUES, st.booleans()),
    max_size=12,
)
HEADS = st.lists(st.tuples(FIELDS, st.booleans(), st.sampled_from([4096, 4096, 200, 0])))


@given(HEADS)
def test_what_hpack_writes(
    heads: list[tuple[list[tuple[bytes, bytes, bool]], bool, int]],
) -> None:
    encoder, reader = hpack.Encoder(), FieldsReader(1 << 20)
    for fields, packs, table in heads:
        encoder.header_table_size = table
        block = encoder.encode(fields, huffman=packs)
        assert reader.decode(block) == [(name, value) for name, value, _ in fields]


BYTES = st.one_of(
    st.binary(max_size=60),
    # Much of it means something.
    st.lists(
        st.sampled_from(
            [
                b"\x82",
                b"\xbe",
                b"\xbf",
                b"\x40\1a\1b",
                b"\x7e\1c",
                b"\x3f\xe1\x1f",
                b"\x20",
                b"\xff\0",
                b"\xff\x80\0",
                b"\x0f\0\1z",
                b"\x80",
                b"\x41\x83\xff\xff\xff",
                b"\x10\1q\0",
            ]
        )
    ).map(b"".join),
)


@given(st.lists(BYTES, max_size=6))
def test_whatever_comes(blocks: list[bytes]) -> None:
    decoder, reader = hpack.Decoder(MOST), FieldsReader(MOST)
    for block in blocks:
        try:
            wanted = [tuple(field) for field in decoder.decode(block, raw=True)]
        # It raises more than its own errors.
        except (HPACKError, IndexError, TypeError):
            with pytest.raises((BadFields, TooManyFields)):
                reader.decode(block)
            return
        assert reader.decode(block) == wanted
        assert reader.header_table_size == decoder.header_table_size


def test_what_is_too_much_when_it_is_read() -> None:
    reader = FieldsReader(MOST)
    reader.decode(b"\x40\1a\x7f\x81\2" + b"y" * 384)
    with pytest.raises(TooManyFields):
        reader.decode(b"\xbe" * 5)


@pytest.mark.parametrize(
    "block", [b"\xff" * 40, b"\x7f" + b"\xff" * 20 + b"\0", b"\0\x7f\xff\xff\xff\xff\x7f"]
)
def test_endless_numbers(block: bytes) -> None:
    with pytest.raises(BadFields):
        FieldsReader(MOST).decode(block)
