"""One budget for what peers make a process keep: nothing leaks from it, and who keeps most has to go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.base import memory as base_memory
from trimq.remoting import memory_budget
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.memory_budget import MemoryBudget, Share

MIB = 1 << 20


class Holder:
    def __init__(self, network: MemoryBudget) -> None:
        self.reason = ""
        self.counters = RemotingCounters()
        self.share: Share = network.share(self, self.counters)

    def close(self, reason: str) -> None:
        self.reason = reason
        # A connection gives everything back, whether it still counts or not.
        self.share.add(-self.share.size)
        self.share.end()


@given(
    st.integers(0, 5000),
    st.lists(
        st.tuples(st.integers(0, 20), st.sampled_from(["add", "take", "end"]), st.integers(1, 900))
    ),
)
def test_nothing_leaks(limit: int, done: list[tuple[int, str, int]]) -> None:
    network = MemoryBudget(limit)
    holders: dict[int, Holder] = {}
    for number, what, size in done:
        holder = holders.get(number) or holders.setdefault(number, Holder(network))
        if what == "add":
            holder.share.add(size)
        elif what == "take":
            holder.share.add(-min(size, holder.share.size))
        else:
            holder.share.end()
        assert network.total == sum(one.share.size for one in holders.values())
        assert min(one.share.size for one in holders.values()) >= 0
        assert not limit or network.total <= limit
    for holder in holders.values():
        holder.share.end()
    assert network.total == 0
    assert not network._shares


@given(st.lists(st.integers(2, 1000), min_size=2, max_size=60))
def test_the_one_that_keeps_most_goes(sizes: list[int]) -> None:
    network = MemoryBudget(sum(sizes))
    holders = [Holder(network) for _ in sizes]
    for holder, size in zip(holders, sizes, strict=True):
        holder.share.add(size)
    assert not any(holder.reason for holder in holders)
    small = Holder(network)
    small.share.add(1)
    gone = [size for holder, size in zip(holders, sizes, strict=True) if holder.reason]
    assert gone == [max(sizes)]
    (counted,) = [dict(one.counters.limits) for one in holders if one.reason]
    assert counted == {"maxNetworkBytes": 1}


def test_many_that_keep_as_much_are_looked_at_once_for_several() -> None:
    network = MemoryBudget(1000)
    looked = 0
    holders = [Holder(network) for _ in range(1000)]

    class Counted(set[Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            looked += 1
            return super().__iter__()

    network._shares = Counted(network._shares)
    for holder in holders:
        holder.share.add(10)
    gone = sum(bool(holder.reason) for holder in holders)
    assert gone == 900
    assert looked <= gone // 10


def test_a_budget_is_a_quarter_of_the_memory_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "usable_memory", lambda: 240 * MIB)
    assert memory_budget.budget(512 * MIB) == 60 * MIB
    assert memory_budget.budget(10 * MIB) == 10 * MIB
    assert memory_budget.budget(0) == 0


@pytest.mark.parametrize(
    ("soft", "usable"), [(-1, 100 * MIB), (50 * MIB, 50 * MIB), (1 << 50, 100 * MIB)]
)
def test_address_space_counts_too(monkeypatch: pytest.MonkeyPatch, soft: int, usable: int) -> None:
    monkeypatch.setattr(base_memory, "physical_memory", lambda: 100 * MIB)
    monkeypatch.setattr(base_memory.resource, "getrlimit", lambda kind: (soft, -1))
    assert base_memory.usable_memory() == usable


def test_a_kind_gets_half_of_it() -> None:
    assert MemoryBudget(100).part(1000) == 50
    assert MemoryBudget(100).part(20) == 20
    assert MemoryBudget(100).part(0) == 50
    assert MemoryBudget(0).part(1000) == 1000
    assert MemoryBudget(0).part(0) == 0
