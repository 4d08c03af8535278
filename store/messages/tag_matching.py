"""Whether a queue entry's tags code is one that a reader asks for, as far as the entry tells.

The code is a hash of the tag, so this may let others through; clients compare the tags themselves.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.entries.extension_unit import MAX_ADDRESS


def matches(tags_code: int, wanted: frozenset[int]) -> bool:
    """DefaultMessageFilter.isMatchedByConsumeQueue: compares the lower 32 bits, signed.

    An address whose unit is lost matches: the client compares the tags themselves.
    """
    if tags_code <= MAX_ADDRESS:
        return True
    return ((tags_code + 0x80000000) & 0xFFFFFFFF) - 0x80000000 in wanted
