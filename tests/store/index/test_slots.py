"""What a table of slots looks through: the pages that may hold anything, and no others."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.index import HEADER_SIZE, SLOT_SIZE
from trimq.store.index.slots import SlotTable
from trimq.store.native.slots import PAGE_SLOTS, big_endian

SLOTS = 5 * PAGE_SLOTS + 17


def entered(table: SlotTable, slots: list[int], number: int) -> None:
    table.enter(slots, [0] * len(slots), [0] * len(slots), 0, number)


@given(
    rounds=st.lists(
        st.tuples(st.lists(st.integers(0, SLOTS - 1), max_size=4), st.booleans()), max_size=6
    ),
    limit=st.integers(1, 20),
)
def test_every_slot_behind_the_limit_is_found_whenever_its_page_was_used(
    rounds: list[tuple[list[int], bool]], limit: int
) -> None:
    """Entered before a `freeze`, while the table is frozen, or after it."""
    table, number = SlotTable(SLOTS), 1
    for slots, freezes in rounds:
        if freezes:
            table.freeze()
        entered(table, slots, number)
        number += len(slots)
        table.unfreeze()
        while table.settle():
            pass
    behind = [entry for entry in table.values if entry >= limit]
    found = table.outside(limit)
    assert (found in behind) if behind else found is None
    table.lead_back(limit, lambda entry: limit - 1)
    assert all(entry < limit for entry in table.values)


def test_a_loaded_table_is_looked_through(tmp_path: Path) -> None:
    path = tmp_path / "index"
    values = [0] * SLOTS
    values[0] = values[2 * PAGE_SLOTS] = 3
    values[SLOTS - 1] = 9
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(fd, HEADER_SIZE + SLOTS * SLOT_SIZE)
        for slot, value in enumerate(values):
            if value:
                data = big_endian(value.to_bytes(4, "little")).tobytes()
                os.pwrite(fd, data, HEADER_SIZE + slot * SLOT_SIZE)
        table = SlotTable(SLOTS)
        table.load(fd)
    finally:
        os.close(fd)
    assert list(table.values) == values
    assert table.outside(10) is None
    assert table.outside(9) == 9
    table.lead_back(3, lambda entry: 1)
    assert [entry for entry in table.values if entry] == [1, 1, 1]
