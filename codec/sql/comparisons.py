"""Conditions that compare: `=`, `<` and the like, IN, CONTAINS and its kin.

An exception of Java's is NotComparable, and ends the evaluation.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.sql.null_logic import FALSE, TRUE, UNKNOWN, Condition, OfOne, equal_with_null
from trimq.codec.sql.property_lookup import PropertyLookup
from trimq.codec.sql.terms import Term
from trimq.codec.sql.values import compare, double_of, order_of_doubles


class Comparison(Condition):
    """Of two terms."""

    __slots__ = ("_left", "_right")

    def __init__(self, left: Term, right: Term) -> None:
        super().__init__(max(left.depth, right.depth) + 1)
        self._left = left
        self._right = right
        self.count(left)
        self.count(right)

    @property
    def parts(self) -> list[Term]:
        return [self._left, self._right]


class Equal(Comparison):
    """`=`; `<>` is its NOT."""

    __slots__ = ()

    def truth(self, lookup: PropertyLookup) -> int:
        left, right = self._left.value(lookup), self._right.value(lookup)
        if left is None or right is None:
            return equal_with_null(left, right)
        return TRUE if compare(left, self._left.kind, right, self._right.kind) == 0 else FALSE


class Ordered(Comparison):
    """`<` and the like, by which of the outcomes of a comparison are true."""

    __slots__ = ("_above", "_at", "_below")

    def __init__(self, left: Term, sign: str, right: Term) -> None:
        super().__init__(left, right)
        self._below = TRUE if sign[0] == "<" else FALSE
        self._above = TRUE - self._below
        self._at = TRUE if sign.endswith("=") else FALSE

    def truth(self, lookup: PropertyLookup) -> int:
        left = self._left.value(lookup)
        if left is None:
            return UNKNOWN
        right = self._right.value(lookup)
        if right is None:
            return UNKNOWN
        if isinstance(left, str) and isinstance(right, str):
            # Texts have no order; both may be numbers.
            order = order_of_doubles(double_of(left), double_of(right))
        else:
            order = compare(left, self._left.kind, right, self._right.kind)
        if order == 0:
            return self._at
        return self._below if order < 0 else self._above


class OneOf(Condition):
    """IN, and NOT IN."""

    __slots__ = ("_name", "_result", "_texts")

    def __init__(self, name: bytes, texts: list[str], inside: bool) -> None:
        super().__init__()
        self._name = name
        self._texts = frozenset(texts)
        self._result = TRUE if inside else FALSE
        self.looks = 1

    @property
    def looked_at(self) -> bytes:
        return self._name

    def truth(self, lookup: PropertyLookup) -> int:
        text = lookup.find(self._name)
        if text is None:
            return UNKNOWN
        return self._result if text in self._texts else TRUE - self._result


class HasPart(OfOne):
    """CONTAINS, STARTSWITH, ENDSWITH and their NOT: false without a text to look at or to look for."""

    __slots__ = ("_part", "_result", "_where")

    def __init__(self, of: Term, where: str, part: str, wanted: bool) -> None:
        """`where`: CONTAINS, STARTSWITH or ENDSWITH."""
        super().__init__(of)
        self._where = where
        self._part = part
        self._result = TRUE if wanted else FALSE

    def truth(self, lookup: PropertyLookup) -> int:
        part = self._part
        if not part:
            return FALSE
        text = self._of.value(lookup)
        if not isinstance(text, str):
            return FALSE
        if self._where == "CONTAINS":
            found = part in text
        elif self._where == "STARTSWITH":
            found = text.startswith(part)
        else:
            found = text.endswith(part)
        return self._result if found else TRUE - self._result
