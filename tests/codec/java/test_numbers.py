"""Sums as Java makes them."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.java.numbers import as_long

LONG_MAX = 2**63 - 1
LONG_MIN = -(2**63)


@given(st.integers(LONG_MIN, LONG_MAX))
def test_what_fits_stays(number: int) -> None:
    assert as_long(number) == number


def test_what_is_too_large_turns_over() -> None:
    assert as_long(LONG_MAX + 1) == LONG_MIN
    assert as_long(LONG_MIN - 1) == LONG_MAX
    assert as_long(LONG_MAX * 1000) == -1000
