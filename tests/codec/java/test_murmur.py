"""MurmurHash3 against known values, and every length of the tail."""

import pytest

from trimq.codec.java.murmur import murmur3_128


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"hello", 0xCBD8A7B341BD9B02),
        (b"hello, world", 0x342FAC623A5EBC8E),
        (b"19 Jan 2038 at 3:14:07 AM", 0xB89E5988B737AFFC),
        (b"The quick brown fox jumps over the lazy dog.", 0xCD99481F9EE902C9),
    ],
)
def test_known_values(data: bytes, expected: int) -> None:
    """Of Guava's own tests (Murmur3Hash128Test)."""
    assert murmur3_128(data) == expected


def test_every_byte_counts() -> None:
    texts = [bytes(range(length)) for length in range(40)]
    assert len({murmur3_128(text) for text in texts}) == 40
    for length in range(1, 40):
        changed = [
            bytes(length),
            *(bytes(at) + b"\1" + bytes(length - at - 1) for at in range(length)),
        ]
        assert len({murmur3_128(text) for text in changed}) == length + 1
