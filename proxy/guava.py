"""Guava's consistent hash, by which a real proxy beside this one chooses the same queue."""

from typing import Final

_MASK: Final = (1 << 64) - 1
# The linear congruential generator of java.util's and Guava's making.
_FACTOR: Final = 2862933555777941757
_TWO_31: Final = float(1 << 31)


def consistent_hash(value: int, buckets: int) -> int:
    """Which of the buckets (Hashing.consistentHash(long, int)): few values move when one is added."""
    state = value & _MASK
    candidate = 0
    while True:
        state = (_FACTOR * state + 1) & _MASK
        following = int((candidate + 1) / (((state >> 33) + 1) / _TWO_31))
        if not 0 <= following < buckets:
            return candidate
        candidate = following
