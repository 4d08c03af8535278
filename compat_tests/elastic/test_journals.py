"""The judge itself: what it calls out of order, and what it lets pass."""

from compat_tests.elastic.journals import MILLISECOND, Order, Seen, delays, order


def call(
    number: int, began: int, queue: int = 0, member: str = "one", lasts: int = 5, offset: int = 0
) -> Seen:
    return Seen("G", "k", number, queue, offset, 0, began, began + lasts, member)


def judged(*calls: Seen, sent: int = 0) -> Order:
    return order(calls, {"k": sent})


def test_in_order() -> None:
    found = judged(call(0, 0), call(1, 5), call(2, 10, queue=1), sent=3)
    assert (found.broken, found.missing, found.again, found.handovers) == (0, 0, 0, 0)


def test_a_gap() -> None:
    found = judged(call(0, 0), call(2, 10), call(1, 20), sent=3)
    assert (found.gaps, found.again, found.missing) == (1, 1, 0)


def test_a_first_number_is_zero() -> None:
    assert judged(call(1, 0), sent=2).gaps == 1


def test_the_next_begins_too_early() -> None:
    assert judged(call(0, 0, lasts=10), call(1, 9, queue=1), sent=2).overlaps == 1


def test_a_redelivery_may_return_later() -> None:
    """The first call has returned: the second one, by the next owner, changes nothing."""
    found = judged(call(0, 0), call(0, 6, member="two", lasts=50), call(1, 10), sent=2)
    assert (found.overlaps, found.again, found.handovers) == (0, 1, 2)


def test_a_redelivery_within_its_queue() -> None:
    found = judged(call(0, 0), call(1, 10), call(0, 20), call(1, 30), sent=2)
    assert (found.broken, found.again) == (0, 2)


def test_a_redelivery_after_a_later_one_from_another_queue() -> None:
    assert judged(call(0, 0), call(1, 10, queue=1), call(0, 20), sent=2).late_again == 1


def test_what_nobody_got() -> None:
    assert judged(call(0, 0), sent=3).missing == 2
    assert order([], {"k": 2, "l": 1}).missing == 3


def test_delays_are_of_the_first_message_from_a_start_on() -> None:
    before = call(0, 7 * MILLISECOND, offset=3)
    at = call(1, 9 * MILLISECOND, offset=5)
    after = call(2, 90 * MILLISECOND, offset=6)
    assert delays([before, at, after], [{0: 4}, {1: 0}]) == [9.0]
