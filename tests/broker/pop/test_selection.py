"""Which queues a pop reads, in which order."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.pop.reading.selection import Place, Shares, places

RETRY = ("R", 1)


def plain(found: list[Place]) -> list[tuple[str, int, bool]]:
    return [(place.topic, place.queue_id, place.is_retry) for place in found]


def test_the_draw_says_where_it_begins() -> None:
    found = places("T", -1, 4, RETRY, 50, Shares(20, False))
    assert [place.queue_id for place in found] == [2, 3, 0, 1, 0]
    assert plain(found)[-1] == ("R", 0, True)
    down = places("T", -1, 4, RETRY, 50, Shares(20, True))
    assert [place.queue_id for place in down[:4]] == [1, 0, 3, 2]


def test_the_retry_topic_comes_first_in_its_share() -> None:
    for drawn in range(100):
        found = places("T", 3, 4, RETRY, drawn, Shares(20, False))
        topics = [place.topic for place in found]
        assert topics == (["R", "T"] if drawn < 20 else ["T", "R"])
        assert ("T", 3, False) in plain(found)


@given(st.integers(0, 99))
def test_priorities_are_read_by_their_number(drawn: int) -> None:
    found = places("T", -1, 4, RETRY, drawn, Shares(0, True, by_priority=True))
    assert [place.queue_id for place in found] == [3, 2, 1, 0, 0]
    assert found[-1].is_retry


@given(st.integers(0, 20), st.integers(0, 3), st.integers(0, 99), st.booleans())
def test_every_queue_once(queues: int, retries: int, drawn: int, highest: bool) -> None:
    found = places("T", -1, queues, ("R", retries), drawn, Shares(20, highest))
    assert sorted(plain(found)) == sorted(
        [("T", queue, False) for queue in range(queues)]
        + [("R", queue, True) for queue in range(retries)]
    )
