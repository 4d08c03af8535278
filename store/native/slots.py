"""The hash slots of an index file that is being written: keys entered, and slots on their way out.

`_slots.c` is its twin.
"""

import sys
from array import array
from mmap import mmap
from typing import Final

from trimq.codec.entries.index import HEADER_SIZE, SLOT_SIZE, pack_entries

PAGE_SLOTS: Final = 4096 // SLOT_SIZE
# The header shifts the slots, so that page n of the table is page n of the file.
SHIFT: Final = HEADER_SIZE // SLOT_SIZE
_INT_MAX: Final = (1 << 31) - 1


def enter_keys(
    slots: memoryview,
    changed: bytearray,
    number: int,
    hashes: list[int],
    offsets: list[int],
    timestamps: list[int],
    begin: int,
    /,
) -> tuple[bytes, int]:
    """Give the keys the entries from `number` on: the entries' bytes, and how many slots were free.

    `changed` has a mark for each page of slots; `begin` is the moment from which the entries count
    seconds. If anything is raised, nothing was changed.
    """
    count, slot_count = len(hashes), len(slots)
    if (
        slot_count == 0
        or len(changed) < (slot_count - 1 + SHIFT) // PAGE_SLOTS + 1
        or not count == len(offsets) == len(timestamps)
        or not 1 <= number <= _INT_MAX - count
    ):
        raise ValueError("enter_keys: the tables do not fit each other")
    if not all(0 <= one <= _INT_MAX for one in hashes):
        raise ValueError("enter_keys: the hash of a key has 31 bits")
    # Numbers that no entry can hold are reported before anything changes.
    array("q", offsets)
    array("q", timestamps)
    seconds = seconds_from(begin, timestamps)
    before: list[int] = []
    for key_hash in hashes:
        slot = key_hash % slot_count
        previous = slots[slot]
        before.append(previous if 0 < previous < number else 0)
        slots[slot] = number
        changed[(slot + SHIFT) // PAGE_SLOTS] = 1
        number += 1
    return pack_entries(hashes, offsets, seconds, before), before.count(0)


def seconds_from(begin: int, timestamps: list[int]) -> list[int]:
    """Whole seconds since `begin`, as an entry can hold them."""
    return [min(max((time - begin) // 1000, 0), _INT_MAX) for time in timestamps]


def copy_slots(slots: memoryview, runs: list[tuple[int, int]], target: mmap, /) -> None:
    """Runs of slots as a file has them, one after another. ValueError: a run lies outside."""
    at = 0
    for first, end in runs:
        if not 0 <= first <= end <= len(slots) or 4 * (end - first) > len(target) - at:
            raise ValueError("copy_slots: a run lies outside")
        data = big_endian(slots[first:end].cast("B")).tobytes()
        target[at : at + len(data)] = data
        at += len(data)


def slots_outside(slots: memoryview, limit: int, /) -> list[int]:
    """The slots, in order, that point below 0, or to `limit` or behind it."""
    if not len(slots) or (max(slots) < limit and min(slots) >= 0):
        return []
    return [slot for slot, number in enumerate(slots) if not 0 <= number < limit]


def big_endian(data: bytes | memoryview) -> "array[int]":
    """Slots as numbers from the file's bytes, or the other way round."""
    values = array("i")
    values.frombytes(data)
    if sys.byteorder == "little":
        values.byteswap()
    return values
