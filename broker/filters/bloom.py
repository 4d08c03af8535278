"""Which bits of a message's map stand for a group and topic (BloomFilter)."""

import math
from typing import Final

from trimq.codec.bodies.filters import BloomFilterData
from trimq.codec.java.murmur import murmur3_128

_INT: Final = 2**32


class Bloom:
    """`error_rate` in percent and `expected` groups give the length of the map and the bits of each group."""

    def __init__(self, error_rate: int, expected: int) -> None:
        rate = error_rate / 100
        self.count = math.ceil(_log(0.5, rate))
        bits = math.ceil(expected * _log(2, 1 / rate) * _log(2, math.e))
        self.bits = 8 * math.ceil(bits / 8)

    def data_of(self, group: str, topic: str) -> BloomFilterData:
        """The group's bits."""
        whole = murmur3_128(f"{group}#{topic}".encode())
        low, high = whole % _INT, whole >> 32
        positions = [self._position(low + turn * high) for turn in range(1, self.count + 1)]
        return BloomFilterData(bit_num=self.bits, bit_pos=positions)

    def is_ours(self, data: BloomFilterData | None) -> bool:
        """Whether it was made with these parameters."""
        if data is None or data.bit_pos is None:
            return False
        return data.bit_num == self.bits and len(data.bit_pos) == self.count

    def _position(self, number: int) -> int:
        """Java's int arithmetic: what is negative is inverted."""
        number %= _INT
        return (number if number < _INT // 2 else _INT - 1 - number) % self.bits


def _log(base: float, number: float) -> float:
    return math.log(number) / math.log(base)
