"""What a pull takes: C and Python take the same entries, and leave the same alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.queue import pack
from trimq.store import native
from trimq.store.native import extents

numbers = st.integers(0, 3000)
NAMES = ("file_size", "memory", "memory_bytes", "memory_count", "disk_bytes", "disk_count")


@given(
    entries=st.lists(st.tuples(st.integers(-1, 40), st.integers(-1, 5)), max_size=40),
    rest=st.binary(max_size=19),
    limits=st.tuples(
        st.integers(1, 3000), numbers, numbers, st.integers(0, 40), numbers, st.integers(0, 40)
    ),
    log=st.tuples(st.integers(-1, 3000), numbers),
    wanted=st.tuples(st.integers(-1, 40), st.integers(0, 4000)),
)
def test_both_take_the_same(entries, rest, limits, log, wanted):
    data = b"".join(pack(place * 100, size * 100, 0) for place, size in entries) + rest
    made = [
        module.take_entries(
            data, module.Limits(**dict(zip(NAMES, limits, strict=True))), *log, *wanted
        )
        for module in (native, extents)
    ]
    assert made[0] == made[1]
    if made[0] is not None:
        packed, messages, total, last, end = made[0]
        found = extents.unpack_extents(packed)
        assert sum(size for _, size in found) == total
        assert (sum(found[-1]), extents.first_offset(packed)) == (end, found[0][0])
        assert 1 <= messages <= len(entries)
        assert found[-1][0] <= last < end


@pytest.mark.parametrize("module", [native, extents])
def test_limits_are_given_by_their_names(module):
    """Two that were swapped went unnoticed when they were ten numbers in a row."""
    values = dict(zip(NAMES, range(1, 7), strict=True))
    made = module.Limits(**values)
    assert {name: getattr(made, name) for name in NAMES} == values
    with pytest.raises(TypeError):
        module.Limits(*values.values())
    with pytest.raises(TypeError):
        module.Limits(file_size=1)
    with pytest.raises(ValueError, match="has bytes"):
        module.Limits(**values | {"file_size": 0})
