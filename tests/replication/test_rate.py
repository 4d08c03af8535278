"""What haStatus shows as the speed of a link."""

from trimq.replication.rate import Rate


def test_it_is_that_of_the_last_whole_second() -> None:
    rate = Rate()
    assert rate.per_second(100.0) == 0
    for tick in range(30):
        rate.count(50, 100 + tick / 10)
    assert rate.per_second(102.9) == 500
    assert rate.per_second(103.5) == 333


def test_it_is_nothing_when_nothing_passes_any_more() -> None:
    rate = Rate()
    for tick in range(30):
        rate.count(50, 100 + tick / 10)
    assert rate.per_second(104) == 0
    assert rate.per_second(10_000) == 0
    rate.count(70, 10_000)
    assert rate.per_second(10_000.5) == 0
    assert rate.per_second(10_001) == 70


def test_a_burst_is_shown_once_its_second_is_over() -> None:
    rate = Rate()
    rate.count(1000, 7.0)
    assert [rate.per_second(now) for now in (7.5, 8.0, 9.0)] == [0, 1000, 0]
