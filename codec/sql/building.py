"""Terms from what the grammar has recognised, with the checks that Java makes at that point.

ComparisonExpression.create..., UnaryExpression.create..., ConstantExpression.create..., SelectorParser:
which operands go with which operator, which numbers there are.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from trimq.codec.errors import CodecError
from trimq.codec.sql.comparisons import Equal, HasPart, OneOf, Ordered
from trimq.codec.sql.null_logic import (
    FALSE,
    TRUE,
    UNKNOWN,
    Alone,
    Both,
    Condition,
    Either,
    Fixed,
    IsNull,
    Not,
)
from trimq.codec.sql.property_lookup import stored_name
from trimq.codec.sql.terms import Constant, NoNumber, Property, Term
from trimq.codec.sql.values import DOUBLE, INTEGER, LONG, LONGEST, NUMBERS, TEXT, compare

# Java's parser and evaluation overflow their stack, at a depth that depends on the thread.
MOST_NESTED: Final = 200
# A text has fewer terms, but BETWEEN evaluates what is before it twice, and so on inside of that.
MOST_WEIGHT: Final = 1 << 16
_INTEGERS: Final = range(-(2**31), 2**31)
_SHOWN: Final = 100
T = TypeVar("T", bound=Term)
Parts = Sequence[Any]


class Unreadable(CodecError):
    """A text that is not an expression: what was expected where."""


def condition(term: Term) -> Condition:
    """SelectorParser.asBooleanExpression: a condition, or a name that stands for one."""
    if isinstance(term, Condition):
        return term
    if isinstance(term, Property):
        return Alone(term.name)
    raise Unreadable(f"a condition was expected, not {_said(term)}")


class Building:
    """A method per rule of the grammar, called with what the rule's parts have become; keeps nothing."""

    # --- operands

    def text(self, parts: Parts) -> Term:
        return Constant(TEXT, _unquoted(parts[0]))

    def whole(self, parts: Parts) -> Term:
        digits = str(parts[0]).rstrip("lL")
        value = int(digits) if len(digits) < 20 else LONGEST + 1
        if value > LONGEST:
            raise Unreadable(f"{_at(parts[0])}: the number is beyond {LONGEST}")
        return Constant(INTEGER if value in _INTEGERS else LONG, value)

    def broken(self, parts: Parts) -> Term:
        value = float(parts[0])
        if not 0 < value < float("inf"):
            raise Unreadable(f"{_at(parts[0])}: the number is 0.0 or beyond what a double can be")
        return Constant(DOUBLE, value)

    def true(self, parts: Parts) -> Term:
        return Fixed(TRUE)

    def false(self, parts: Parts) -> Term:
        return Fixed(FALSE)

    def null(self, parts: Parts) -> Term:
        return Fixed(UNKNOWN)

    def name(self, parts: Parts) -> Term:
        return Property(_stored_name(str(parts[0])))

    def group(self, parts: Parts) -> Term:
        term = cast(Term, parts[0])
        term.depth += 1
        return _limited(term)

    def plus(self, parts: Parts) -> Term:
        return self.group(parts)

    def minus(self, parts: Parts) -> Term:
        term = cast(Term, parts[0])
        if isinstance(term, Constant) and term.kind in NUMBERS:
            negated = Constant(term.kind, -cast(float, term.constant), is_constant=False)
            negated.depth = term.depth + 1
            return _limited(negated)
        return _limited(NoNumber(term))

    # --- conditions

    def negation(self, parts: Parts) -> Term:
        return _limited(Not(condition(parts[0])))

    def either(self, parts: Parts) -> Term:
        first, second = condition(parts[0]), condition(parts[1])
        if isinstance(first, Either):
            first.add(second)
            return _limited(first)
        return _limited(Either(first, second))

    def both(self, parts: Parts) -> Term:
        first, second = condition(parts[0]), condition(parts[1])
        if isinstance(first, Both):
            first.add(second)
            return _limited(first)
        return _limited(Both(first, second))

    def equal(self, parts: Parts) -> Term:
        left, right = cast(Term, parts[0]), cast(Term, parts[1])
        for side in (left, right):
            if isinstance(side, Fixed) and side.is_null:
                raise Unreadable("NULL cannot be compared: IS NULL was expected")
        if isinstance(left, Fixed) and right.is_constant and not isinstance(right, Fixed):
            raise Unreadable(f"{_said(left)} cannot be compared with {_said(right)}")
        return _limited(Equal(left, right))

    def unequal(self, parts: Parts) -> Term:
        return _limited(Not(cast(Condition, self.equal(parts))))

    def is_null(self, parts: Parts) -> Term:
        return _limited(IsNull(parts[0]))

    def is_not_null(self, parts: Parts) -> Term:
        return _limited(Not(IsNull(parts[0])))

    def ordered(self, parts: Parts) -> Term:
        left, sign, right = parts
        return _limited(_ordered(left, str(sign), right))

    def between(self, parts: Parts) -> Term:
        value, low, high = parts
        _check_bounds(low, high)
        return _limited(Both(_ordered(value, ">=", low), _ordered(value, "<=", high)))

    def not_between(self, parts: Parts) -> Term:
        value, low, high = parts
        return _limited(Either(_ordered(value, "<", low), _ordered(value, ">", high)))

    def texts(self, parts: Parts) -> list[str]:
        return [_unquoted(part) for part in parts]

    def inside(self, parts: Parts) -> Term:
        return OneOf(_name_of(parts[0], "IN"), parts[1], True)

    def not_inside(self, parts: Parts) -> Term:
        return OneOf(_name_of(parts[0], "NOT IN"), parts[1], False)

    def has_part(self, parts: Parts) -> Term:
        of, word, part = parts
        return _limited(HasPart(of, str(word).upper(), _unquoted(part), True))

    def has_no_part(self, parts: Parts) -> Term:
        of, word, part = parts
        return _limited(HasPart(of, str(word).upper(), _unquoted(part), False))


def _limited(term: T) -> T:
    if term.depth > MOST_NESTED:
        raise Unreadable(f"conditions are nested more than {MOST_NESTED} deep")
    if term.weight > MOST_WEIGHT:
        raise Unreadable("BETWEEN is nested in what is before BETWEEN too often")
    return term


def _ordered(left: Term, sign: str, right: Term) -> Condition:
    for side in (left, right):
        if isinstance(side, Condition) or (side.is_constant and side.kind == TEXT):
            raise Unreadable(f"a name or a number was expected beside {sign}, not {_said(side)}")
    return Ordered(left, sign, right)


def _check_bounds(low: Term, high: Term) -> None:
    """Of BETWEEN, when both are written as numbers."""
    if not (isinstance(low, Constant) and isinstance(high, Constant)):
        return
    if not (low.is_constant and high.is_constant and {low.kind, high.kind} <= NUMBERS):
        return
    if compare(high.constant, high.kind, low.constant, low.kind) < 0:
        raise Unreadable(f"BETWEEN {low.constant} AND {high.constant}: the lower bound comes first")


def _name_of(term: Term, word: str) -> bytes:
    if not isinstance(term, Property):
        raise Unreadable(f"a name was expected before {word}, not {_said(term)}")
    return term.name


def _unquoted(token: str) -> str:
    return str(token)[1:-1].replace("''", "'")


# One object for one name: comparing them is quick then.
_stored_name = lru_cache(1024)(stored_name)


def _at(token: Any) -> str:
    return f"at character {token.start_pos + 1}"


def _said(term: Term) -> str:
    """A term in a few words, for a remark."""
    if isinstance(term, Constant):
        said = repr(term.constant)
        return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
    if isinstance(term, Property):
        return f"the name {term.name[:-1].decode()[:_SHOWN]}"
    if isinstance(term, Fixed):
        return "NULL" if term.is_null else "TRUE or FALSE"
    return "a condition" if isinstance(term, Condition) else "a number with a sign"
