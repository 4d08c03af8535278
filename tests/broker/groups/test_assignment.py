"""Queues shared out among the clients of a group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.groups.rebalance.assignment import CannotShare, shared_out, shared_to_pop
from trimq.codec.bodies.locks import MessageQueue


def queues(count: int, brokers: int = 1) -> list[MessageQueue]:
    return sorted(
        MessageQueue(broker_name=f"b{number % brokers}", queue_id=number // brokers, topic="T")
        for number in range(count)
    )


CLIENTS = st.lists(st.text("abc", min_size=1), min_size=1, max_size=7, unique=True).map(sorted)


@given(CLIENTS, st.integers(1, 20), st.integers(1, 3), st.sampled_from(["AVG", "AVG_BY_CIRCLE"]))
def test_every_queue_goes_to_one_client(
    clients: list[str], count: int, brokers: int, strategy: str
) -> None:
    every = queues(count, brokers)
    shares = [shared_out(every, clients, client, strategy) for client in clients]
    assert sorted(queue for share in shares for queue in share) == every
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_neighbours_or_in_turn() -> None:
    every = queues(5)
    numbers = [queue.queue_id for queue in shared_out(every, ["a", "b"], "a", "AVG")]
    assert numbers == [0, 1, 2]
    numbers = [queue.queue_id for queue in shared_out(every, ["a", "b"], "a", "AVG_BY_CIRCLE")]
    assert numbers == [0, 2, 4]


@given(CLIENTS, st.integers(1, 20), st.integers(-1, 8))
def test_a_client_that_pops_always_has_something(
    clients: list[str], count: int, share_with: int
) -> None:
    every = queues(count, 2)
    for client in clients:
        share = shared_to_pop(every, clients, client, "AVG", share_with)
        assert share
        if share_with <= 0 or share_with >= len(clients) - 1:
            assert {queue.queue_id for queue in share} == {-1}
            assert {queue.broker_name for queue in share} == {one.broker_name for one in every}
        elif len(clients) <= count:
            own = shared_out(every, clients, client, "AVG")
            assert set(own) <= set(share)


@pytest.mark.parametrize("strategy", ["CONFIG", None, ""])
def test_an_unknown_strategy_has_no_answer(strategy: str | None) -> None:
    with pytest.raises(CannotShare):
        shared_out(queues(2), ["a"], "a", strategy)
    with pytest.raises(CannotShare):
        shared_to_pop(queues(2), ["a"], "a", strategy, 0)
    with pytest.raises(CannotShare):
        shared_to_pop(queues(2), ["a", "b", "c"], "a", strategy, 1)


def test_who_is_not_in_the_group_gets_nothing() -> None:
    assert shared_out(queues(2), ["a"], "b", "AVG") == []
    with pytest.raises(CannotShare):
        shared_out(queues(2), ["a"], " ", "AVG")
