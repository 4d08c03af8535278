"""What an expression is made of, once it is read: terms that look into a message's property bytes.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.sql.property_lookup import PropertyLookup
from trimq.codec.sql.values import NOTHING, TEXT


class Term:
    """`kind`: what its value is if there is one. `depth`: how deep terms are nested in it.

    `is_constant`: written as a text, a number, TRUE, FALSE or NULL. `looks`, `weight`: how often evaluating it
    looks up a property, and evaluates a term, at most.
    """

    __slots__ = ("depth", "is_constant", "kind", "looks", "weight")

    def __init__(self, kind: int, depth: int = 1, is_constant: bool = False) -> None:
        self.kind = kind
        self.depth = depth
        self.is_constant = is_constant
        self.looks = 0
        self.weight = 1

    def count(self, part: Term) -> None:
        """Evaluating it evaluates this part once."""
        self.looks += part.looks
        self.weight += part.weight

    @property
    def parts(self) -> list[Term]:
        return []

    @property
    def looked_at(self) -> bytes:
        """The name of the property that it looks up itself, as it is stored; empty: none."""
        return b""

    def value(self, lookup: PropertyLookup) -> object:
        """None when unknown."""
        raise NotImplementedError


class Constant(Term):
    __slots__ = ("constant",)

    def __init__(self, kind: int, constant: object, is_constant: bool = True) -> None:
        super().__init__(kind, is_constant=is_constant)
        self.constant = constant

    def value(self, lookup: PropertyLookup) -> object:
        return self.constant


class Property(Term):
    __slots__ = ("name",)

    def __init__(self, name: bytes) -> None:
        """`name`: as it is stored (`stored_name`)."""
        super().__init__(TEXT)
        self.name = name
        self.looks = 1

    @property
    def looked_at(self) -> bytes:
        return self.name

    def value(self, lookup: PropertyLookup) -> object:
        return lookup.find(self.name)


class NoNumber(Term):
    """A minus before something else than a number is null, once that has been evaluated."""

    __slots__ = ("_of",)

    def __init__(self, of: Term) -> None:
        super().__init__(NOTHING, of.depth + 1)
        self._of = of
        self.count(of)

    @property
    def parts(self) -> list[Term]:
        return [self._of]

    def value(self, lookup: PropertyLookup) -> object:
        self._of.value(lookup)
        return None
