"""How Java compares the values of an expression (ComparisonExpression.__compare, Double, Integer, Long).

A value is a text, a truth, a whole number of 32 or 64 bits, or a double. A text that meets a number
is converted to the number's own kind; one that cannot be is an exception there, as here.

Hot: compiled by mypyc when a compiler is there.
"""

import math
import re
from typing import Final, cast

# What an operand gives when it gives anything. NOTHING never does.
TEXT: Final = 0
TRUTH: Final = 1
INTEGER: Final = 2
LONG: Final = 3
DOUBLE: Final = 4
NOTHING: Final = 5
NUMBERS: Final = frozenset((INTEGER, LONG, DOUBLE))

LONGEST: Final = 2**63 - 1
_LARGEST_INTEGER: Final = 2**31 - 1
# String.trim takes these away.
_BLANKS: Final = "".join(map(chr, range(0x21)))
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?[fFdD]?")
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++[fFdD]?"
)
_NAMED: Final = {
    f"{sign}{name}": float(f"{sign}{name}")
    for sign in ("", "+", "-")
    for name in ("NaN", "Infinity")
}
# A text that is longer, without leading zeros, is no long.
_MOST_DIGITS: Final = 19


class NotComparable(Exception):
    """Evaluating has no result: the message does not match, whatever the rest of the expression says."""


def compare(left: object, left_kind: int, right: object, right_kind: int) -> int:
    """Below, at or above 0 as `left` is below, at or above `right`; -1 too for what has no order.

    NotComparable: a text that is not such a number, or a truth on the left of a text.
    """
    if left_kind == TEXT:
        text = cast(str, left)
        if right_kind == TEXT:
            other = cast(str, right)
            return 0 if text == other else -1
        if right_kind == TRUTH:
            return order_of_wholes(int(is_true(text)), int(cast(bool, right)))
        return _order(number_of(text, right_kind), right, right_kind)
    if right_kind == TEXT:
        if left_kind == TRUTH:
            raise NotComparable("a truth on the left cannot be compared with a text")
        return _order(left, number_of(cast(str, right), left_kind), left_kind)
    if TRUTH in (left_kind, right_kind):
        return 0 if left_kind == right_kind and left == right else -1
    return _order(left, right, DOUBLE if DOUBLE in (left_kind, right_kind) else LONG)


def is_true(text: str) -> bool:
    """Boolean.valueOf."""
    return len(text) == 4 and text.lower() == "true"


def number_of(text: str, kind: int) -> object:
    """Integer.valueOf, Long.valueOf or Double.valueOf; NotComparable for what they refuse."""
    if kind == DOUBLE:
        return double_of(text)
    return whole_of(text, _LARGEST_INTEGER if kind == INTEGER else LONGEST)


def whole_of(text: str, largest: int) -> int:
    """A sign and digits of any script; nothing around them."""
    if len(text) < 10 and text.isdecimal() and text.isascii():
        return int(text)
    digits = text[1:] if text.startswith(("-", "+")) else text
    if not digits.isdecimal():
        raise NotComparable("a text is not a whole number")
    if not digits.isascii():
        if max(digits) > "\uffff":
            raise NotComparable("a digit of a text is two characters in Java")
        digits = "".join([str(int(digit)) for digit in digits])
    digits = digits.lstrip("0")
    value = int(digits or "0") if len(digits) <= _MOST_DIGITS else LONGEST + 2
    if text.startswith("-"):
        value = -value
    if not -largest - 1 <= value <= largest:
        raise NotComparable("a text is a number beyond the range")
    return value


def double_of(text: str) -> float:
    """Decimal or hexadecimal, with a suffix if it has one; blanks around it do not count."""
    stripped = text.strip(_BLANKS)
    if _DECIMAL.fullmatch(stripped):
        return float(stripped.rstrip("fFdD"))
    named = _NAMED.get(stripped)
    if named is not None:
        return named
    if _HEXADECIMAL.fullmatch(stripped):
        try:
            return float.fromhex(stripped.rstrip("fFdD"))
        except OverflowError:
            return -math.inf if stripped.startswith("-") else math.inf
    raise NotComparable("a text is not a number")


def order_of_doubles(left: float, right: float) -> int:
    """Double.compareTo: NaN is above all and equal to itself, -0.0 is below 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    if left == right:
        if left == 0.0:
            return order_of_wholes(int(math.copysign(1, left)), int(math.copysign(1, right)))
        return 0
    return order_of_wholes(int(math.isnan(left)), int(math.isnan(right)))


def order_of_wholes(left: int, right: int) -> int:
    if left == right:
        return 0
    return -1 if left < right else 1


def _order(left: object, right: object, kind: int) -> int:
    """Of two numbers, at least one of which has this kind."""
    if kind == DOUBLE:
        return order_of_doubles(float(cast(float, left)), float(cast(float, right)))
    return order_of_wholes(cast(int, left), cast(int, right))
