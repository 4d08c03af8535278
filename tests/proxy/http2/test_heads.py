"""Heads of answers, read by the library that clients of Python use."""

import hpack
from hypothesis import given
from hypothesis import strategies as st

from trimq.proxy.http2.heads import HeadEncoder

HEAD = ((b":status", b"200"), (b"content-type", b"application/grpc"), (b"x", b"y"))
END = ((b"grpc-status", b"0"), (b"x", b"y"))
TEXTS = st.one_of(
    st.binary(max_size=20), st.just(b"x" * 126), st.just(b"x" * 127), st.just(b"x" * 9000)
)
FIELDS = st.lists(
    st.tuples(st.sampled_from([b"a", b"grpc-message"]), TEXTS), min_size=1, max_size=4
)
OTHERS = FIELDS.map(lambda fields: ((b":status", b"415"), *fields))


@given(st.lists(st.one_of(st.just(HEAD), st.just(END), OTHERS), max_size=30), st.integers(0, 30))
def test_read_as_written(heads: list[tuple[tuple[bytes, bytes], ...]], shrinks_at: int) -> None:
    encoder, decoder = HeadEncoder(frozenset((HEAD, END))), hpack.Decoder()
    for at, fields in enumerate(heads):
        if at == shrinks_at:
            # The peer has said in its settings that its table holds nothing.
            encoder.header_table_size = 0
            decoder.max_allowed_table_size = 0
        read = decoder.decode(encoder.encode(fields), raw=True)
        assert [tuple(field) for field in read] == list(fields)


def test_what_is_sent_again_is_short() -> None:
    encoder = HeadEncoder(frozenset((HEAD, END)))
    assert [len(encoder.encode(HEAD)) for _ in range(3)] == [37, 3, 3]
    assert [len(encoder.encode(END)) for _ in range(3)] == [16, 2, 2]
    assert [len(encoder.encode(HEAD)) for _ in range(2)] == [3, 3]
