"""The collector of cycles looks at what is young; all of it is looked at seldom."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from trimq.process.garbage import Garbage, frozen_garbage


class Node:
    """Refers to itself when it is told to."""

    def __init__(self) -> None:
        self.me: Any = None


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_has_outlived_a_look_is_not_looked_at_again() -> None:
    with frozen_garbage():
        kept = [Node() for _ in range(10_000)]
        gc.collect()
        # The oldest generation is all that the next look goes through.
        assert len(gc.get_objects(generation=2)) < 1000
        assert len(kept) == 10_000
    assert gc.get_freeze_count() == 0


def test_young_cycles_are_found_and_old_ones_by_a_full_look() -> None:
    with frozen_garbage() as garbage:
        young = Node()
        young.me = young
        del young
        assert gc.collect() >= 1
        old = Node()
        old.me = old
        gc.collect()
        del old
        before = _nodes_that_refer_to_themselves()
        gc.collect()
        assert _nodes_that_refer_to_themselves() == before
        garbage.look_fully()
        assert _nodes_that_refer_to_themselves() == before - 1


def _nodes_that_refer_to_themselves() -> int:
    """Frozen ones are in no generation, so they are looked for when that is undone."""
    gc.unfreeze()
    found = sum(type(one) is Node and one.me is one for one in gc.get_objects())
    gc.freeze()
    return found


def test_a_full_look_is_due_when_as_much_was_frozen_as_there_was() -> None:
    garbage = Garbage(least=5000)
    garbage.look_fully()
    gc.callbacks.append(garbage.looked)
    try:
        assert not garbage.is_due
        total = garbage._total
        kept = [Node() for _ in range(max(total, 5000) + 1000)]
        gc.collect()
        assert garbage.is_due
        garbage.look_fully()
        assert not garbage.is_due
        assert (garbage.full_looks, len(kept)) == (2, max(total, 5000) + 1000)
    finally:
        gc.callbacks.remove(garbage.looked)
