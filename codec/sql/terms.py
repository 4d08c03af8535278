"""What an expression is made of, once it is read: terms that look into a message's property bytes.

Truths have three values (LogicExpression, UnaryExpression); an exception of Java's is NotComparable
and ends the evaluation.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.codec.native import property_text
from trimq.codec.records.properties import NAME_END
from trimq.codec.sql.values import (
    NOTHING,
    TEXT,
    TRUTH,
    NotComparable,
    compare,
    double_of,
    order_of_doubles,
)

UNKNOWN: Final = -1
FALSE: Final = 0
TRUE: Final = 1

# What evaluating an expression on one message may cost, in bytes looked at: a few milliseconds. Only
# thousands of conditions on values of many KiB cost as much.
MOST_WORK: Final = 1 << 20
_LOOK: Final = 128
_SEARCH_SHIFT: Final = 6


def stored_name(name: str) -> bytes:
    """A property's name with its end, as it is looked for."""
    return (name + NAME_END).encode()


class Overworked(NotComparable):
    """The expression would cost too much on this message, which then does not match."""


class Looked:
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
            self.spent += len(block) >> _SEARCH_SHIFT
            value = property_text(block, name)
            self._value = value
            self._name = name
        self.spent += _LOOK if value is None else _LOOK + len(value)
        if self.spent > MOST_WORK:
            raise Overworked("too many conditions on too long values")
        return value


class Term:
    """`kind`: what its value is if there is one. `depth`: how deep terms are nested in it.

    `is_constant`: written as a text, a number, TRUE, FALSE or NULL.
    """

    __slots__ = ("depth", "is_constant", "kind")

    def __init__(self, kind: int, depth: int = 1, is_constant: bool = False) -> None:
        self.kind = kind
        self.depth = depth
        self.is_constant = is_constant

    def value(self, looked: Looked) -> object:
        """None when unknown."""
        raise NotImplementedError


class Constant(Term):
    __slots__ = ("constant",)

    def __init__(self, kind: int, constant: object, is_constant: bool = True) -> None:
        super().__init__(kind, is_constant=is_constant)
        self.constant = constant

    def value(self, looked: Looked) -> object:
        return self.constant


class Property(Term):
    __slots__ = ("name",)

    def __init__(self, name: bytes) -> None:
        """`name`: as it is stored (`stored_name`)."""
        super().__init__(TEXT)
        self.name = name

    def value(self, looked: Looked) -> object:
        return looked.find(self.name)


class NoNumber(Term):
    """A minus before something else than a number is null, once that has been evaluated."""

    __slots__ = ("_of",)

    def __init__(self, of: Term) -> None:
        super().__init__(NOTHING, of.depth + 1)
        self._of = of

    def value(self, looked: Looked) -> object:
        self._of.value(looked)
        return None


class Condition(Term):
    """A term that is true, false or unknown."""

    __slots__ = ()

    def __init__(self, depth: int = 1, is_constant: bool = False) -> None:
        super().__init__(TRUTH, depth, is_constant)

    def truth(self, looked: Looked) -> int:
        raise NotImplementedError

    def value(self, looked: Looked) -> object:
        truth = self.truth(looked)
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

    def truth(self, looked: Looked) -> int:
        return self._truth


class Alone(Condition):
    """A name where a condition is expected: its value is a text, and no text is true."""

    __slots__ = ("_name",)

    def __init__(self, name: bytes) -> None:
        super().__init__()
        self._name = name

    def truth(self, looked: Looked) -> int:
        return UNKNOWN if looked.find(self._name) is None else FALSE


class Not(Condition):
    __slots__ = ("_of",)

    def __init__(self, of: Condition) -> None:
        super().__init__(of.depth + 1)
        self._of = of

    def truth(self, looked: Looked) -> int:
        truth = self._of.truth(looked)
        return truth if truth == UNKNOWN else TRUE - truth


class Chain(Condition):
    """Conditions joined by one word, from left to right; the first that is `decisive` ends it."""

    __slots__ = ("_decisive", "_parts")

    def __init__(self, first: Condition, second: Condition, decisive: int) -> None:
        super().__init__(max(first.depth, second.depth) + 1)
        self._parts = [first, second]
        self._decisive = decisive

    def add(self, part: Condition) -> None:
        self._parts.append(part)
        self.depth = max(self.depth, part.depth + 1)

    def truth(self, looked: Looked) -> int:
        decisive = self._decisive
        result = TRUE - decisive
        for part in self._parts:
            truth = part.truth(looked)
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


class IsNull(Condition):
    __slots__ = ("_of",)

    def __init__(self, of: Term) -> None:
        super().__init__(of.depth + 1)
        self._of = of

    def truth(self, looked: Looked) -> int:
        return TRUE if self._of.value(looked) is None else FALSE


class Equal(Condition):
    """Only a missing left side is unknown: a missing right one is unequal, and two missing ones are equal."""

    __slots__ = ("_left", "_right")

    def __init__(self, left: Term, right: Term) -> None:
        super().__init__(max(left.depth, right.depth) + 1)
        self._left = left
        self._right = right

    def truth(self, looked: Looked) -> int:
        left, right = self._left.value(looked), self._right.value(looked)
        if left is None:
            return TRUE if right is None else UNKNOWN
        if right is None:
            return FALSE
        return TRUE if compare(left, self._left.kind, right, self._right.kind) == 0 else FALSE


class Ordered(Condition):
    """`<` and the like, by which of the outcomes of a comparison are true."""

    __slots__ = ("_above", "_at", "_below", "_left", "_right")

    def __init__(self, left: Term, sign: str, right: Term) -> None:
        super().__init__(max(left.depth, right.depth) + 1)
        self._left = left
        self._right = right
        self._below = TRUE if sign[0] == "<" else FALSE
        self._above = TRUE - self._below
        self._at = TRUE if sign.endswith("=") else FALSE

    def truth(self, looked: Looked) -> int:
        left = self._left.value(looked)
        if left is None:
            return UNKNOWN
        right = self._right.value(looked)
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

    def truth(self, looked: Looked) -> int:
        text = looked.find(self._name)
        if text is None:
            return UNKNOWN
        return self._result if text in self._texts else TRUE - self._result


class HasPart(Condition):
    """CONTAINS, STARTSWITH, ENDSWITH and their NOT: false without a text to look at or to look for."""

    __slots__ = ("_of", "_part", "_result", "_where")

    def __init__(self, of: Term, where: str, part: str, wanted: bool) -> None:
        """`where`: CONTAINS, STARTSWITH or ENDSWITH."""
        super().__init__(of.depth + 1)
        self._of = of
        self._where = where
        self._part = part
        self._result = TRUE if wanted else FALSE

    def truth(self, looked: Looked) -> int:
        part = self._part
        if not part:
            return FALSE
        text = self._of.value(looked)
        if not isinstance(text, str):
            return FALSE
        if self._where == "CONTAINS":
            found = part in text
        elif self._where == "STARTSWITH":
            found = text.startswith(part)
        else:
            found = text.endswith(part)
        return self._result if found else TRUE - self._result


class Expression:
    """A filter, ready to be asked about messages. Equal texts share one."""

    __slots__ = ("_condition", "text")

    def __init__(self, text: str, condition: Condition) -> None:
        self.text = text
        self._condition = condition

    def holds(self, looked: Looked) -> bool:
        """Whether it is true of the message; unknown, and an exception, are not."""
        try:
            return self._condition.truth(looked) == TRUE
        except NotComparable:
            return False

    def truth(self, properties: bytes) -> int:
        """TRUE, FALSE or UNKNOWN; NotComparable where Java's evaluation throws."""
        return self._condition.truth(Looked(properties))

    def matches(self, properties: bytes) -> bool:
        """Whether it is true of a message with these properties, as they are stored."""
        return self.holds(Looked(properties))
