"""The map of an elastic topic, its changes and what groups have passed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.elastic.model import (
    MOST_CHANGES,
    Move,
    PlanError,
    TopicMap,
    converted_topic,
    new_topic,
    plan_merge,
    plan_scale,
    plan_split,
)

NONE: frozenset[int] = frozenset()


def _run(topic: TopicMap, moves: list[Move], ends: dict[int, int]) -> TopicMap:
    for move in moves:
        topic = topic.apply(move, lambda queue: ends.get(queue, 0))
    return topic


def test_a_change_names_ends_and_starts() -> None:
    topic = _run(new_topic(2, 4), [Move({2: 2})], {0: 7, 2: 3})
    (change,) = topic.changes
    assert (topic.place(0), topic.place(2)) == (0, 2)
    assert (change.version, change.ends, change.starts) == (1, {0: 7}, {2: 3})


def test_the_gate_opens_at_the_donors_end() -> None:
    topic = _run(new_topic(2, 4), [Move({2: 2})], {0: 7, 2: 3})
    assert topic.readable_until(2, NONE) == 3
    assert topic.readable_until(0, NONE) is None
    assert topic.newly_passed(NONE, {0: 6}.__getitem__) == NONE
    passed = topic.newly_passed(NONE, {0: 7}.__getitem__)
    assert passed == {1}
    assert topic.readable_until(2, passed) is None
    assert topic.passed_end(0, passed) == 7


def test_an_empty_queue_split_again_waits_for_the_first_donor() -> None:
    """Queue 1's end is its start: anybody has reached it, queue 0 read or not."""
    topic = _run(TopicMap((0, 0, 0)), [Move({1: 1, 2: 1}), Move({2: 2})], {0: 5})
    assert topic.newly_passed(NONE, lambda _queue: 0) == NONE
    assert topic.newly_passed(NONE, {0: 5, 1: 0}.__getitem__) == {1, 2}


def test_a_reset_closes_what_rests_on_it() -> None:
    topic = _run(TopicMap((0, 0, 0)), [Move({1: 1, 2: 1}), Move({2: 2})], {0: 5})
    both = frozenset({1, 2})
    assert topic.kept_passes(both, 0, 5) == both
    assert topic.kept_passes(both, 0, 4) == NONE


def test_a_change_is_forgotten_with_the_messages_below_its_ends() -> None:
    topic = _run(TopicMap((0, 0, 0)), [Move({1: 1, 2: 1}), Move({2: 2})], {0: 5})
    assert topic.forget({0: 4, 1: 0}.__getitem__) is topic
    assert topic.forget({0: 5, 1: 0}.__getitem__).changes == ()
    assert topic.forget({0: 5, 1: 0}.__getitem__).queues == topic.queues


def test_changes_are_limited() -> None:
    topic = TopicMap((0, 0))
    for number in range(MOST_CHANGES):
        topic = topic.apply(Move({1: 1 - number % 2}), lambda _queue: 1)
    with pytest.raises(PlanError, match="wait until retention"):
        topic.apply(Move({1: 1}), lambda _queue: 1)


@pytest.mark.parametrize(
    ("targets", "says"),
    [({}, "at least one"), ({9: 1}, "no partition 9"), ({0: 0}, "already"), ({0: 1, 1: 0}, "give")],
)
def test_moves_that_cannot_be_made(targets: dict[int, int], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        new_topic(2, 4).check(Move(targets))


def test_split_and_merge() -> None:
    topic = new_topic(2, 8)
    assert plan_split(topic, 0, 2).targets == {2: 2, 6: 2}
    assert plan_merge(topic, 0).targets == dict.fromkeys((1, 3, 5, 7), 0)
    with pytest.raises(PlanError, match="must keep"):
        plan_split(topic, 0, 2, (0, 2, 4, 6))


@given(st.integers(1, 3000), st.integers(0, 2**31 - 1))
def test_a_converted_topics_keys_stay(write_queues: int, key_hash: int) -> None:
    topic = converted_topic(write_queues)
    count = len(topic.queues)
    assert topic.place(key_hash % count) == key_hash % write_queues
    others = [n for n in (count - write_queues, count + write_queues) if n]
    assert all(abs(count - 1000) <= abs(other - 1000) for other in others)


def _sizes(topic: TopicMap) -> list[int]:
    return [len(topic.partitions_of(queue)) for queue in range(topic.in_use)]


@pytest.mark.parametrize(
    ("before", "after", "left"), [(3, 4, [250, 333, 333, 84]), (4, 5, [200, 250, 250, 250, 50])]
)
def test_a_scale_that_was_interrupted_goes_on(before: int, after: int, left: list[int]) -> None:
    first, *others = plan_scale(new_topic(before), after)
    topic = _run(new_topic(before), [first], {})
    assert _sizes(topic) == left
    moves = plan_scale(topic, after)
    assert moves == others
    assert max(_sizes(_run(topic, moves, {}))) <= -(-1000 // after)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=4),
)
def test_an_even_topic_comes_of_any_plan_that_was_left_anywhere(
    queues: list[int], plans: list[tuple[int, int]]
) -> None:
    """Each is left after some changes, and asked for again: together they move what had to be moved, once."""
    topic = TopicMap(tuple(queues))
    for wanted, made in plans:
        count = min(wanted, len(queues))
        before = _sizes(topic)
        share = -(-len(queues) // count)
        moved: list[int] = []
        whole = plan_scale(topic, count)
        for moves in (whole[:made], None):
            for move in plan_scale(topic, count) if moves is None else moves:
                assert len({topic.place(lp) for lp in move.targets}) == 1
                moved += move.targets
                topic = topic.apply(move, lambda _queue: 0)
        assert len(moved) == len(set(moved)) == sum(len(move.targets) for move in whole)
        assert topic.in_use == count
        assert max(_sizes(topic)) - min(_sizes(topic)) <= 1
        assert plan_scale(topic, count) == []
        if not len(queues) % count:
            # The fewest that can be.
            assert len(moved) == sum(
                size if queue >= count else max(0, size - share)
                for queue, size in enumerate(before)
            )


def test_a_lopsided_topic_is_evened_out() -> None:
    topic = _run(new_topic(2, 8), [plan_split(new_topic(2, 8), 0, 1, (2, 4, 6))], {})
    assert _sizes(topic) == [1, 7]
    assert plan_scale(topic, 2) == [Move(dict.fromkeys((5, 6, 7), 0))]


@given(st.lists(st.integers(1, 64), min_size=1, max_size=6))
def test_scaling_ends_balanced_on_the_lowest_ids(counts: list[int]) -> None:
    topic = new_topic(4)
    for count in counts:
        moves = plan_scale(topic, count)
        for move in moves:
            assert len({topic.place(lp) for lp in move.targets}) == 1
            topic = topic.apply(move, lambda _queue: 0)
        sizes = [len(topic.partitions_of(queue)) for queue in range(count)]
        assert topic.in_use == count
        assert max(sizes) - min(sizes) <= 1
