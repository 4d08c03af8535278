"""What NULL makes of conditions: truths have three values (LogicExpression, UnaryExpression).

An unknown truth is NULL. NOT leaves it unknown; AND and OR are unknown unless another part decides; `=` has a rule
of its own, and every other comparison with NULL is unknown. A message matches when the whole is true.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.sql.property_lookup import PropertyLookup
from trimq.codec.sql.terms import Term
from trimq.codec.sql.values import TRUTH

UNKNOWN: Final = -1
FALSE: Final = 0
TRUE: Final = 1


class Condition(Term):
    """A term that is true, false or unknown."""

    __slots__ = ()

    def __init__(self, depth: int = 1, is_constant: bool = False) -> None:
        super().__init__(TRUTH, depth, is_constant)

    def truth(self, lookup: PropertyLookup) -> int:
        raise NotImplementedError

    def value(self, lookup: PropertyLookup) -> object:
        truth = self.truth(lookup)
        return None if truth == UNKNOWN else truth == TRUE


class Fixed(Condition):
    """TRUE, FALSE, NULL."""

    __slots__ = ("_truth",)

    def __init__(self, truth: int) -> None:
        super().__init__(is_constant=True)
        self._truth = truth

    @property
    def is_null(self) -> bool:
        return self._truth == UNKNOWN

    def truth(self, lookup: PropertyLookup) -> int:
        return self._truth


class Alone(Condition):
    """A name where a condition is expected: its value is a text, and no text is true."""

    __slots__ = ("_name",)

    def __init__(self, name: bytes) -> None:
        super().__init__()
        self._name = name
        self.looks = 1

    @property
    def looked_at(self) -> bytes:
        return self._name

    def truth(self, lookup: PropertyLookup) -> int:
        return UNKNOWN if lookup.find(self._name) is None else FALSE


class OfOne(Condition):
    """Of one term."""

    __slots__ = ("_of",)

    def __init__(self, of: Term) -> None:
        super().__init__(of.depth + 1)
        self._of = of
        self.count(of)

    @property
    def parts(self) -> list[Term]:
        return [self._of]


class Not(OfOne):
    __slots__ = ("_condition",)

    def __init__(self, of: Condition) -> None:
        super().__init__(of)
        self._condition = of

    def truth(self, lookup: PropertyLookup) -> int:
        truth = self._condition.truth(lookup)
        return truth if truth == UNKNOWN else TRUE - truth


class Chain(Condition):
    """Conditions joined by one word, from left to right; the first that is `decisive` ends it."""

    __slots__ = ("_decisive", "_parts")

    def __init__(self, first: Condition, second: Condition, decisive: int) -> None:
        super().__init__(max(first.depth, second.depth) + 1)
        self._parts = [first, second]
        self._decisive = decisive
        self.count(first)
        self.count(second)

    @property
    def parts(self) -> list[Term]:
        return [*self._parts]

    def add(self, part: Condition) -> None:
        self._parts.append(part)
        self.depth = max(self.depth, part.depth + 1)
        self.count(part)

    def truth(self, lookup: PropertyLookup) -> int:
        decisive = self._decisive
        result = TRUE - decisive
        for part in self._parts:
            truth = part.truth(lookup)
            if truth == decisive:
                return truth
            if truth == UNKNOWN:
                result = UNKNOWN
        return result


class Both(Chain):
    """AND."""

    __slots__ = ()

    def __init__(self, first: Condition, second: Condition) -> None:
        super().__init__(first, second, FALSE)


class Either(Chain):
    """OR."""

    __slots__ = ()

    def __init__(self, first: Condition, second: Condition) -> None:
        super().__init__(first, second, TRUE)


class IsNull(OfOne):
    __slots__ = ()

    def truth(self, lookup: PropertyLookup) -> int:
        return TRUE if self._of.value(lookup) is None else FALSE


def equal_with_null(left: object, right: object) -> int:
    """What `=` says when a side is missing: only a missing left one is unknown.

    A missing right one is unequal, and two missing ones are equal.
    """
    if left is None:
        return TRUE if right is None else UNKNOWN
    return FALSE
