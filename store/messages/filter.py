"""What a pull wants beyond tags: a question about each message's properties (MessageFilter).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.entries.extension_unit import bits_in
from trimq.store.native import Verdicts


class MessageFilter:
    """`spent`: what the last answer has cost, in bytes looked at.

    A bit map that the queue has for a message may say no without its properties (isMatchedByConsumeQueue):
    bits that are all set if the message matched this filter when it was stored. They count for messages
    stored after `born`, in maps of `map_bytes` bytes; 0: no map counts.

    `verdicts`: what filters that ask the same have said by the values of a few properties, if nothing else counts.
    """

    __slots__ = ("_bits", "_born", "map_bytes", "spent", "verdicts")

    def __init__(self, verdicts: Verdicts | None = None) -> None:
        self.spent = 0
        self.verdicts = verdicts
        self.map_bytes = 0
        self._bits = 0
        self._born = 0

    def use_maps(self, map_bytes: int, positions: list[int], born: int) -> None:
        """Heed bit maps from now on; `born` in milliseconds since 1970."""
        self.map_bytes = map_bytes
        self._born = born
        self._bits = 0
        for position in positions:
            self._bits |= 1 << position

    def may_match(self, bit_map: bytes, store_timestamp: int) -> bool:
        """What the queue's bit map says."""
        if len(bit_map) != self.map_bytes or store_timestamp <= self._born:
            return True
        return bits_in(bit_map) & self._bits == self._bits

    def matches(self, properties: bytes) -> bool:
        """Whether the message is wanted. May run in a worker thread: it looks at nothing that changes."""
        raise NotImplementedError
