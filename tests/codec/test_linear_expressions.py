"""Regular expressions that strangers can feed: twice the text, twice the characters that are looked at, and no more."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.codec.backtracking import Counting
from trimq.broker.filters import consumer_filters
from trimq.broker.pop.order import blocks
from trimq.broker.topics import names
from trimq.codec.frames import json_head
from trimq.codec.java import json_scan, properties
from trimq.codec.records import recall_handle
from trimq.codec.sql import lexing, values
from trimq.processors.offsets import get_all_consumer_offset
from trimq.store.messages import delay_levels

# Pieces of texts; each pair of them is repeated.
PIECES = [
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "0",
    "a",
    " ",
    "\n",
    "-",
    ".",
    "=",
    '"a":',
    "{1:",
]
SQL = [
    *(
        "-",
        "--",
        "\n",
        "\r",
        " ",
        "/",
        "*",
        "/*",
        "*/",
        "'",
        "''",
        "'x'",
        "0",
        "1",
        ".",
        "e",
        "E+",
        "L",
    ),
    *(
        "a",
        "_",
        "NOT",
        "AND ",
        "OR",
        "IN",
        "IS",
        "NULL",
        "BETWEEN",
        "CONTAINS",
        "(",
        ")",
        ",",
        "<",
        ">",
        "=",
    ),
]
# What a module's expressions are for, other than to match at one place.
GO_THROUGH = {
    *("_FORMATTING", "_OFFSETS", "_POSITIONS", "_UNSAFE", "_UNSAFE_IN_KEYS"),
    *("_NUMBER_MAP_KEY", "_LINE", "_KEY"),
}
WHOLE = {
    *("values._DECIMAL", "values._HEXADECIMAL", "recall_handle._BASE64", "names._LEGAL"),
    "delay_levels._WORD",
}
MODULES: list[Any] = [
    *(consumer_filters, blocks, names, json_head, json_scan, properties, recall_handle),
    *(values, get_all_consumer_offset, delay_levels),
]
EXPRESSIONS = [
    (f"{module.__name__.rpartition('.')[2]}.{name}", name, pattern)
    for module in MODULES
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern)
]
# Enough to tell squares from lines; it decides what this file costs.
SIZE = 12


def looks(act: Callable[[str], int], text: str, before: str = "", behind: str = "") -> None:
    small, large = act(before + text * SIZE + behind), act(before + text * 2 * SIZE + behind)
    assert large <= 2 * small + 100, (
        f"{before + text!r}...{behind!r}: {small}, twice as long {large}"
    )


@pytest.mark.parametrize(
    ("label", "name", "pattern"), EXPRESSIONS, ids=[one[0] for one in EXPRESSIONS]
)
def test_expressions(label: str, name: str, pattern: "re.Pattern[Any]") -> None:
    def act(text: str) -> int:
        counting = Counting(pattern, text)
        if label in WHOLE:
            counting.match_all()
        elif name in GO_THROUGH:
            counting.search_all()
        else:
            counting.match()
        return counting.looks

    for first, second in product(PIECES, PIECES):
        looks(act, first + second)


def _looks_of_tokens(text: str) -> int:
    """As lexing.tokens goes through it."""
    last_end = max(text.rfind("\n"), text.rfind("\r"))
    counters = {
        True: Counting(lexing._BEFORE_THE_LAST_LINE, text),
        False: Counting(lexing._IN_THE_LAST_LINE, text),
    }
    at: int | None = 0
    while at is not None and at < len(text):
        if text[at - 1 : at + 1].isdigit() and at > 0:
            # A number behind a number: no expression goes on there.
            break
        at = counters[at < last_end].match(at)
    return counters[True].looks + counters[False].looks


def test_tokens_of_sql_filters() -> None:
    for first, second in product(SQL, SQL):
        looks(_looks_of_tokens, first + second)
    for piece in SQL:
        for before, behind in (("a ", "\n"), ("'", ""), ("/*", ""), ("--", ""), ("\n", "'")):
            looks(_looks_of_tokens, piece, before, behind)


def test_the_count_is_that_of_the_same_matches() -> None:
    """The matcher of this test finds what Python's finds."""
    for first, second in product(SQL, SQL):
        text = (first + second) * 3
        for pattern in (lexing._BEFORE_THE_LAST_LINE, lexing._IN_THE_LAST_LINE):
            found = pattern.match(text)
            assert Counting(pattern, text).match() == (None if found is None else found.end())


def test_a_comment_that_looks_for_its_end_again_and_again_is_found_out() -> None:
    """What this test is for: the rule as it was once."""
    pattern = re.compile(r"--[^\n\r]*(?:\r\n|\n|\r)|-")

    def act(text: str) -> int:
        counting = Counting(pattern, text)
        counting.search_all()
        return counting.looks

    with pytest.raises(AssertionError, match="twice as long"):
        looks(act, "-")
