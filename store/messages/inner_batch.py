"""Several messages in one record: how many, and the queue offset of the first.

The record's body is the batch as its producer sent it. Property INNER_NUM has the count, INNER_BASE
the offset, and the sysFlag says INNER_BATCH (CommitLog.setBatchSizeIfNeeded, getMessageNum).
"""

from __future__ import annotations

from typing import Final

from trimq.codec.records.properties import find_property, without_property
from trimq.store.errors import StoreError

INNER_NUM: Final = b"INNER_NUM"
INNER_BASE: Final = b"INNER_BASE"
# A queue entry has 16 bits for it.
MOST_MESSAGES: Final = 32767
# More of them are too many in any case.
_DIGITS: Final = 18


def count_of(properties: bytes) -> int:
    """How many messages the record holds; StoreError when there are more than a queue can count."""
    text = find_property(properties, INNER_NUM)
    if text is None or not text.isdigit():
        return 1
    count = int(text[:_DIGITS])
    if count > MOST_MESSAGES:
        raise StoreError(f"{count} messages in one record; at most {MOST_MESSAGES} can be counted")
    return max(count, 1)


def stored_count(properties: bytes) -> int:
    """The same of a record that is in the log, whatever it says."""
    try:
        return count_of(properties)
    except StoreError:
        return MOST_MESSAGES


def with_base(properties: bytes, base_offset: int) -> bytes:
    """The properties with the queue offset of the first message, instead of any other."""
    block = without_property(properties, INNER_BASE)
    if block and not block.endswith(b"\x02"):
        block += b"\x02"
    return block + INNER_BASE + b"\x01%d\x02" % base_offset
