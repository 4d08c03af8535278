"""An expression as a whole: whether a message matches, and which properties decide it.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.sql.null_logic import TRUE, Condition
from trimq.codec.sql.property_lookup import LOOK, MOST_WORK, SEARCH_SHIFT, PropertyLookup
from trimq.codec.sql.terms import Term
from trimq.codec.sql.values import NotComparable

# Values up to this length are short, and so many looks at short values never cost more than an evaluation
# may, whatever else a message has (a record's properties take 64 KiB at most).
SHORT: Final = 64
_MOST_LOOKS: Final = MOST_WORK // ((0xFFFF >> SEARCH_SHIFT) + LOOK + SHORT)
# What evaluating a term costs, in bytes looked at.
_TERM: Final = 8


class Expression:
    """A filter, ready to be asked about messages. Equal texts share one."""

    __slots__ = ("_condition", "cost", "text")

    def __init__(self, text: str, condition: Condition) -> None:
        self.text = text
        self._condition = condition
        # What asking costs beside looking up properties, in bytes looked at.
        self.cost = condition.weight * _TERM

    def holds(self, lookup: PropertyLookup) -> bool:
        """Whether it is true of the message; unknown, and an exception, are not."""
        try:
            return self._condition.truth(lookup) == TRUE
        except NotComparable:
            return False

    def truth(self, properties: bytes) -> int:
        """TRUE, FALSE or UNKNOWN; NotComparable where Java's evaluation throws."""
        return self._condition.truth(PropertyLookup(properties))

    def matches(self, properties: bytes) -> bool:
        """Whether it is true of a message with these properties, as they are stored."""
        return self.holds(PropertyLookup(properties))

    def deciding(self, most: int) -> tuple[bytes, ...] | None:
        """The names, as they are stored, of the properties whose values decide it as long as all are short.

        None: they are more than `most`, or evaluating may end by what it costs.
        """
        if self._condition.looks > _MOST_LOOKS:
            return None
        names: list[bytes] = []
        seen: set[int] = set()
        left: list[Term] = [self._condition]
        while left:
            term = left.pop()
            # BETWEEN has the same value in both of its comparisons.
            if term.looks == 0 or id(term) in seen:
                continue
            seen.add(id(term))
            name = term.looked_at
            if name and name not in names:
                if len(names) == most:
                    return None
                names.append(name)
            left += term.parts
        return tuple(names)
