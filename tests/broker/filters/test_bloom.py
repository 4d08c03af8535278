"""Which bits stand for a group, as the real broker wrote them."""

import pytest

from trimq.broker.filters.bloom import Bloom
from trimq.codec.bodies.filters import BloomFilterData


@pytest.mark.parametrize(
    ("group", "topic", "positions"),
    [("SQLG", "TopicTest", [9, 69, 4]), ("CG", "T", [0, 73, 34])],
)
def test_positions_of_the_real_broker(group: str, topic: str, positions: list[int]) -> None:
    data = Bloom(20, 32).data_of(group, topic)
    assert (data.bit_num, data.bit_pos) == (112, positions)


@pytest.mark.parametrize(
    ("rate", "expected", "bits", "count"),
    [
        (20, 32, 112, 3),
        (20, 64, 216, 3),
        (10, 128, 616, 4),
        (1, 1, 16, 7),
        (50, 32, 48, 1),
        (99, 1, 8, 1),
    ],
)
def test_sizes(rate: int, expected: int, bits: int, count: int) -> None:
    bloom = Bloom(rate, expected)
    assert (bloom.bits, bloom.count) == (bits, count)
    assert all(0 <= at < bits for at in bloom.data_of("G", "T").bit_pos or [bits])


def test_whose_it_is() -> None:
    bloom = Bloom(20, 32)
    assert bloom.is_ours(bloom.data_of("G", "T"))
    assert not bloom.is_ours(Bloom(20, 64).data_of("G", "T"))
    assert not bloom.is_ours(BloomFilterData(bit_num=112, bit_pos=[1, 2]))
    assert not bloom.is_ours(BloomFilterData(bit_num=112))
    assert not bloom.is_ours(None)
