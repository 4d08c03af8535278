"""A rate, of which ten seconds' worth may come at once."""

from trimq.proxy.http2.allowance import Allowance


def test_ten_seconds_at_once_then_one_by_one() -> None:
    allowance = Allowance(2)
    assert [allowance.take(1, 5.0) for _ in range(21)] == [True] * 20 + [False]
    assert allowance.take(1, 6.0)
    assert not allowance.take(1, 6.0)


def test_it_does_not_grow_without_end() -> None:
    allowance = Allowance(1)
    allowance.give(1000)
    assert not allowance.take(11, 10_000.0)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    allowance = Allowance(1)
    assert allowance.take(10, 100.0)
    assert not allowance.take(1, 50.0)
