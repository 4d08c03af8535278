"""What a dict does, its parts growing one at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.tables.spread_dict import SpreadDict

KEYS = st.integers(0, 3000)
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put many", "take", "look", "clear"]), KEYS), max_size=60
)


@given(STEPS)
def test_it_is_a_dict(steps):
    spread: SpreadDict[str, int] = SpreadDict()
    model: dict[str, int] = {}
    for number, (step, first) in enumerate(steps):
        key = f"k{first}"
        if step == "put":
            spread[key] = model[key] = number
        elif step == "put many":
            for other in range(first, first + 700):
                spread[f"k{other}"] = model[f"k{other}"] = number
        elif step == "take":
            assert spread.pop(key) == model.pop(key, None)
        elif step == "look":
            assert spread.get(key) == model.get(key)
            assert (key in spread) == (key in model)
        elif number % 5 == 0:
            spread.clear()
            model.clear()
        assert len(spread) == len(model)
        assert bool(spread) == bool(model)
    assert sorted(spread) == sorted(model)
    assert all(spread.get(key) == value for key, value in model.items())


def test_few_keys_are_in_the_order_in_which_they_came():
    spread: SpreadDict[str, None] = SpreadDict()
    names = [f"n{number * 7919 % 1000}" for number in range(1000)]
    for name in names:
        spread[name] = None
    assert list(spread) == names


@pytest.mark.parametrize("key", [str, lambda number: (str(number), "G", number)])
def test_no_part_is_much_larger_than_the_others(key):
    spread: SpreadDict[object, None] = SpreadDict()
    for number in range(50_000):
        spread[key(number)] = None
    assert max(map(len, spread._parts)) < 2 * 50_000 / len(spread._parts)
