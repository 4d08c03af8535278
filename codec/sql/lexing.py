"""The tokens of SQL92 filters (SelectorParser's token manager), read in time that grows with the text and no faster.

Each expression decides with every character, and gives nothing back that it could try again in another way: what a
token costs is what it covers. One token looks further than it covers: a comment to the end of its line is none where
no line ends any more. So it is looked for only before the last end of a line.
"""

import re
from collections.abc import Iterator
from typing import Final


def _word(text: str) -> str:
    """A key word in any case that is not the beginning of a name. Python's own `(?i)` knows more letters."""
    either = "".join(f"[{letter}{letter.lower()}]" for letter in text)
    return rf"{either}(?![A-Za-z0-9_$])"


_LINE: Final = ("LINE", r"--[^\n\r]*+(?:\r\n|\n|\r)")
# In this order: what comes first is tried first.
_TOKENS: Final = (
    ("BLANKS", r"[ \t\n\r\f]++"),
    ("REMARK", r"/\*[^*]*+\*++(?:[^*/][^*]*+\*++)*+/"),
    *((f"_{word}", _word(word)) for word in ("NOT", "AND", "OR", "BETWEEN", "IN")),
    *((f"_{word}", _word(word)) for word in ("TRUE", "FALSE", "NULL", "IS")),
    ("PART", "|".join(map(_word, ("CONTAINS", "STARTSWITH", "ENDSWITH")))),
    (
        "BROKEN",
        r"[0-9]++\.[0-9]*+(?:[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?|[0-9]++[eE][+-]?[0-9]++",
    ),
    ("WHOLE", "0|[1-9][0-9]*+[lL]?"),
    # A quote behind a text may be its end, if another one does not come: that alone is tried again.
    ("TEXT", "'(?:[^']++|'')*'"),
    ("NAME", r"[A-Za-z_$][A-Za-z0-9_$]*+"),
    ("SIGN", ">=|<=|>|<(?!>)"),
    ("_UNEQUAL", "<>"),
    ("_EQUAL", "="),
    ("_OPEN", r"\("),
    ("_CLOSE", r"\)"),
    ("_COMMA", ","),
    ("_PLUS", r"\+"),
    ("_MINUS", "-"),
)
NAMES: Final = tuple(name for name, _ in _TOKENS[2:])
_SKIPPED: Final = frozenset({"LINE", "BLANKS", "REMARK"})


def _either(tokens: tuple[tuple[str, str], ...]) -> "re.Pattern[str]":
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in tokens))


_BEFORE_THE_LAST_LINE: Final = _either((_LINE, *_TOKENS))
_IN_THE_LAST_LINE: Final = _either(_TOKENS)


class NoToken(Exception):
    """Nothing begins at this place."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of each; what is skipped has no name."""
    last_end = max(text.rfind("\n"), text.rfind("\r"))
    at = 0
    while at < len(text):
        pattern = _BEFORE_THE_LAST_LINE if at < last_end else _IN_THE_LAST_LINE
        found = pattern.match(text, at)
        if found is None:
            raise NoToken(at)
        name, end = str(found.lastgroup), found.end()
        yield "" if name in _SKIPPED else name, at, end
        at = end
