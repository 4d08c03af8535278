"""Index slots: C enters keys and copies runs as Python does, and both change nothing when they refuse."""

import mmap
import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.store import native
from trimq.store.index.file import NO_ORIGIN
from trimq.store.native import slots

BOTH = [native, slots]


def table(values):
    return memoryview(array("i", values)), bytearray(len(values) // slots.PAGE_SLOTS + 2)


@given(
    hashes=st.lists(st.integers(0, (1 << 31) - 1), max_size=40),
    count=st.integers(1, 2000),
    begin=st.sampled_from([NO_ORIGIN, 1_000_000, -(1 << 63)]),
    seed=st.integers(),
)
def test_entries_of_keys(hashes, count, begin, seed):
    chance = random.Random(seed)
    offsets = [chance.randrange(1 << 62) for _ in hashes]
    times = [chance.choice([0, 999_500, 1_001_000, 1 << 50, (1 << 63) - 1]) for _ in hashes]
    number = chance.randrange(1, 1000)
    before = [chance.randrange(-5, 2000) for _ in range(count)]
    found = []
    for module in BOTH:
        values, changed = table(before)
        made = module.enter_keys(values, changed, number, hashes, offsets, times, begin)
        found.append((made, values.tolist(), changed))
    assert found[0] == found[1]


@given(st.lists(st.integers(-3, 12), max_size=40), st.integers(-1, 14))
def test_slots_that_point_to_no_entry(values, limit):
    expected = [slot for slot, number in enumerate(values) if number < 0 or number >= limit]
    for module in BOTH:
        assert module.slots_outside(table(values)[0], limit) == expected


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(
    ("hashes", "offsets", "times", "error"),
    [
        ([1, 2], [1, 1 << 63], [1, 1], OverflowError),
        ([1, 2], [1, 1], [1, 1 << 64], OverflowError),
        ([1, 2], [1, 1], [1, "x"], TypeError),
        ([1, -1], [1, 1], [1, 1], ValueError),
        ([1, 1 << 31], [1, 1], [1, 1], ValueError),
        ([1, 2], [1], [1, 1], ValueError),
    ],
)
def test_nothing_has_changed_when_a_later_number_is_wrong(module, hashes, offsets, times, error):
    values, changed = table([0] * 100)
    with pytest.raises(error):
        module.enter_keys(values, changed, 1, hashes, offsets, times, 0)
    assert not any(values)
    assert not any(changed)


@pytest.mark.parametrize("module", BOTH)
def test_tables_that_do_not_fit_are_refused(module):
    values, changed = table([0] * 2000)
    for marks, number in (
        (bytearray(), 1),
        (bytearray(1), 1),
        (changed, 0),
        (changed, (1 << 31) - 1),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            module.enter_keys(values, marks, number, [1], [1], [1], 0)
    with pytest.raises(ValueError, match="do not fit"):
        module.enter_keys(values[:0], changed, 1, [1], [1], [1], 0)


@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=50), st.data())
def test_slots_on_their_way_out(values, data):
    values = memoryview(array("i", [*values, 0]))
    place = st.integers(0, len(values))
    runs = [
        tuple(sorted(pair)) for pair in data.draw(st.lists(st.tuples(place, place), max_size=4))
    ]
    size = sum(end - first for first, end in runs) * 4
    with mmap.mmap(-1, size + 4) as one, mmap.mmap(-1, size + 4) as other:
        native.copy_slots(values, runs, one)
        slots.copy_slots(values, runs, other)
        assert one[:] == other[:]


@pytest.mark.parametrize("module", BOTH)
def test_runs_that_lie_outside_are_refused(module):
    values = memoryview(array("i", range(100)))
    with mmap.mmap(-1, 40) as target:
        for runs in ([(0, 11)], [(0, 6), (6, 11)], [(95, 101)], [(-1, 2)], [(3, 2)]):
            with pytest.raises(ValueError, match="lies outside"):
                module.copy_slots(values, runs, target)
        with pytest.raises(TypeError):
            module.copy_slots(values, [("a", 2)], target)
