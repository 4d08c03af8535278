"""A regular expression matched by hand, counting each character that is looked at.

That is what an engine that backtracks has to do at most. It knows what our expressions are made of, and fails on
anything else.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

_PARSER: Any = re._parser  # type: ignore[attr-defined]  # there is no other way to what a pattern consists of
Next = Callable[[int], int | None]


@cache
def _parts(pattern: "re.Pattern[Any]") -> list[Any]:
    return list(_PARSER.parse(pattern.pattern, pattern.flags & ~re.UNICODE))


@cache
def _way(kind: Any) -> str:
    return f"_{str(kind).lower()}"


class Counting:
    """One pattern and one text. `looks`: how many characters were looked at."""

    def __init__(self, pattern: "re.Pattern[Any]", text: Any) -> None:
        self._parsed = _parts(pattern)
        self._all = bool(pattern.flags & re.DOTALL)
        self._text = text if isinstance(text, str) else text.decode("latin-1")
        self.looks = 0

    def match(self, at: int = 0) -> int | None:
        """The end of the match that begins there."""
        return self._sequence(self._parsed, at, lambda end: end)

    def match_all(self) -> None:
        """The whole text, or nothing."""
        self._sequence(self._parsed, 0, lambda end: end if end == len(self._text) else None)

    def search_all(self) -> None:
        """As `sub` and `finditer` go through a text."""
        at = 0
        while at <= len(self._text):
            end = self.match(at)
            at = end if end is not None and end > at else at + 1

    def _sequence(self, parts: list[Any], at: int, then: Next) -> int | None:
        if not parts:
            return then(at)
        (kind, value), rest = parts[0], parts[1:]
        return getattr(self, _way(kind))(value, at, lambda end: self._sequence(rest, end, then))

    def _one(self, at: int, fits: Callable[[str], bool], then: Next) -> int | None:
        self.looks += 1
        return then(at + 1) if at < len(self._text) and fits(self._text[at]) else None

    def _literal(self, value: int, at: int, then: Next) -> int | None:
        return self._one(at, lambda char: ord(char) == value, then)

    def _not_literal(self, value: int, at: int, then: Next) -> int | None:
        return self._one(at, lambda char: ord(char) != value, then)

    def _any(self, _value: None, at: int, then: Next) -> int | None:
        return self._one(at, lambda char: self._all or char != "\n", then)

    def _in(self, value: list[Any], at: int, then: Next) -> int | None:
        return self._one(at, lambda char: _is_in(value, ord(char)), then)

    def _branch(self, value: Any, at: int, then: Next) -> int | None:
        for one in value[1]:
            end = self._sequence(list(one), at, then)
            if end is not None:
                return end
        return None

    def _subpattern(self, value: Any, at: int, then: Next) -> int | None:
        return self._sequence(list(value[3]), at, then)

    def _atomic_group(self, value: Any, at: int, then: Next) -> int | None:
        end = self._sequence(list(value), at, lambda reached: reached)
        return None if end is None else then(end)

    def _assert(self, value: Any, at: int, then: Next) -> int | None:
        direction, inside = value
        start = at if direction > 0 else at - 1
        found = start >= 0 and self._sequence(list(inside), start, lambda end: end) is not None
        return then(at) if found else None

    def _assert_not(self, value: Any, at: int, then: Next) -> int | None:
        return then(at) if self._sequence(list(value[1]), at, lambda end: end) is None else None

    def _at(self, value: Any, at: int, then: Next) -> int | None:
        assert str(value) in {"AT_END", "AT_END_STRING"}, value
        return then(at) if at >= len(self._text) else None

    def _max_repeat(self, value: Any, at: int, then: Next) -> int | None:
        assert not any(map(_goes_back, value[2])), "a repetition that goes back within one"
        ends = self._repeated(value, at)
        while ends:
            end = then(ends.pop())
            if end is not None:
                return end
        return None

    def _possessive_repeat(self, value: Any, at: int, then: Next) -> int | None:
        ends = self._repeated(value, at)
        return then(ends[-1]) if ends else None

    def _repeated(self, value: Any, at: int) -> list[int]:
        """Where it may end, the longest last. Each repetition takes its first way: it has no other in our patterns."""
        low, high, inside = value
        parts, ends = list(inside), [at] if low == 0 else []
        count = 0
        while count < int(high):
            end = self._sequence(parts, at, lambda reached: reached)
            if end is None or end == at:
                break
            at, count = end, count + 1
            if count >= low:
                ends.append(at)
        return ends


def _goes_back(part: Any) -> bool:
    """Whether a part has a repetition without a bound that gives back what it took."""
    kind, value = part
    name = str(kind)
    if name == "MAX_REPEAT":
        return str(value[1]) == "MAXREPEAT" or any(map(_goes_back, value[2]))
    if name == "SUBPATTERN":
        return any(map(_goes_back, value[3]))
    return name == "BRANCH" and any(_goes_back(one) for way in value[1] for one in way)


def _is_in(members: list[Any], char: int) -> bool:
    negated = str(members[0][0]) == "NEGATE"
    for kind, value in members[negated:]:
        name = str(kind)
        if name == "LITERAL":
            found = char == value
        elif name == "RANGE":
            found = value[0] <= char <= value[1]
        else:
            assert str(value) == "CATEGORY_DIGIT", value
            found = chr(char).isdigit()
        if found:
            return not negated
    return negated
