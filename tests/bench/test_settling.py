"""When a load has warmed a server, and what a warm-up says of itself."""

from __future__ import annotations

from itertools import count

import pytest

from bench.loads.settling import Pace, settled, warm_up

PACE = Pace(every=5, limit=90)


@pytest.mark.parametrize(
    ("rates", "warm"),
    [
        ([], False),
        ([100, 100], False),
        ([100, 100, 100], True),
        ([100, 103, 101], True),
        ([100, 103.1, 101], False),
        # It is the last three that count, and all of them.
        ([10, 50, 100, 101, 102], True),
        ([100, 100, 100, 104], False),
        ([100, 102, 104], False),
        # An idle server is not warm.
        ([0, 0, 0], False),
        ([0, 100, 100], False),
    ],
)
def test_three_rates_within_three_percent_are_warm(rates, warm):
    assert settled(rates) is warm


def test_a_warm_up_ends_when_the_rates_have_settled():
    rates = iter([10, 50, 99, 100, 101, 500])
    found = warm_up(rates, PACE)
    assert (found.seconds, found.settled, found.rates) == (25, True, (10, 50, 99, 100, 101))
    assert next(rates) == 500
    assert str(found) == "25 s"


def test_what_never_settles_is_given_up_at_the_limit_and_says_so():
    found = warm_up((100 * 1.1**n for n in count()), PACE)
    assert (found.seconds, found.settled) == (90, False)
    assert str(found) == "90 s, not settled (21% apart)"


def test_what_settles_at_the_very_limit_has_settled():
    rates = [100 * 1.1**n for n in range(15)] + [700, 700, 700]
    found = warm_up(iter(rates), PACE)
    assert (found.seconds, found.settled) == (90, True)


def test_a_load_that_stands_still_is_not_warm():
    assert str(warm_up(iter([0.0] * 30), Pace(5, 15))) == "15 s, not settled (nothing came)"


def test_a_load_that_ends_by_itself_has_had_what_it_had():
    found = warm_up(iter([100.0, 100.0]), PACE)
    assert (found.seconds, found.settled) == (10, False)
