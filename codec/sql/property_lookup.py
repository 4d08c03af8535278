"""Looking up properties of the message that an expression is evaluated on, and what that costs.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.native import property_text
from trimq.codec.records.properties import NAME_END
from trimq.codec.sql.values import NotComparable

# What evaluating an expression on one message may cost, in bytes looked at: a few milliseconds. Only
# thousands of conditions on values of many KiB cost as much.
MOST_WORK: Final = 1 << 20
LOOK: Final = 128
SEARCH_SHIFT: Final = 6


def stored_name(name: str) -> bytes:
    """A property's name with its end, as it is looked for."""
    return (name + NAME_END).encode()


class Overworked(NotComparable):
    """The expression would cost too much on this message, which then does not match."""


class PropertyLookup:
    """The property bytes of the message under evaluation, and what looking at them has cost."""

    __slots__ = ("_name", "_value", "block", "spent")

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.spent = 0
        # The last one looked up: BETWEEN, and rows of = with OR, ask again.
        self._name = b""
        self._value: str | None = None

    def take(self, block: bytes) -> None:
        """Another message."""
        self.block = block
        self.spent = 0
        self._name = b""
        self._value = None

    def find(self, name: bytes) -> str | None:
        """A property's text, by its name as it is stored, with its end; None when there is none."""
        value = self._value
        if name != self._name:
            block = self.block
            self.spent += len(block) >> SEARCH_SHIFT
            value = property_text(block, name)
            self._value = value
            self._name = name
        self.spent += LOOK if value is None else LOOK + len(value)
        if self.spent > MOST_WORK:
            raise Overworked("too many conditions on too long values")
        return value
