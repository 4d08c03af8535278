"""What expressions make of messages: three values, and Java's exceptions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.records.properties import format_properties
from trimq.codec.sql.grammar import parse
from trimq.codec.sql.null_logic import FALSE, TRUE, UNKNOWN
from trimq.codec.sql.property_lookup import Overworked
from trimq.codec.sql.values import NotComparable

EXCEPTION = "exception"
T, F, U, E = TRUE, FALSE, UNKNOWN, EXCEPTION


def outcome(text: str, **properties: str) -> int | str:
    try:
        return parse(text).truth(format_properties(properties))
    except NotComparable:
        return EXCEPTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b = missing", F),
        ("missing = b", U),
        ("missing = absent", T),
        ("missing <> absent", F),
        ("missing <> b", U),
        ("b <> missing", T),
        ("missing IS NULL", T),
        ("b IS NOT NULL", T),
        ("NULL IS NULL", T),
        ("b", F),
        ("NOT b", T),
        ("NOT missing", U),
        ("missing", U),
        ("n > 4", T),
        ("n > 5", F),
        ("n >= 5", T),
        ("missing > 5", U),
        ("5 < n", F),
        ("b > 5", E),
        ("n = 5.0", T),
        ("n = 2147483648", F),
        ("large = 5", E),
        ("large = 9223372036854775807", T),
        ("large > 2147483648", T),
        ("d > 5", E),
        ("d > 5.0", T),
        ("d = 5.5", T),
        ("n < d", T),
        ("b < n", E),
        ("-n = 5", U),
        ("-n IS NULL", T),
        ("n > -6", T),
        ("t = TRUE", T),
        ("b = TRUE", F),
        ("TRUE = t", E),
        ("TRUE = missing", F),
        ("1 = TRUE", F),
        ("1 <> TRUE", T),
        ("TRUE = (b = 'x')", T),
        ("(b > 5) OR TRUE", E),
        ("TRUE OR (b > 5)", T),
        ("FALSE AND (b > 5)", F),
        ("missing AND (b > 5)", E),
        ("missing OR TRUE", T),
        ("missing AND FALSE", F),
        ("missing AND TRUE", U),
        ("n BETWEEN 1 AND 5", T),
        ("n NOT BETWEEN 1 AND 5", F),
        ("missing BETWEEN 1 AND 5", U),
        ("b IN ('x', 'y')", T),
        ("b NOT IN ('x', 'y')", F),
        ("missing IN ('x')", U),
        ("missing NOT IN ('x')", U),
        ("b CONTAINS ''", F),
        ("b NOT CONTAINS ''", F),
        ("missing NOT CONTAINS 'x'", F),
        ("word CONTAINS 'it''s'", T),
        ("word STARTSWITH 'so'", T),
        ("word ENDSWITH 'so'", F),
        ("word NOT ENDSWITH 'so'", T),
        ("5 CONTAINS '5'", F),
        ("5 = 5.0", T),
        ("'x' = 'x'", T),
    ],
)
def test_values(text: str, expected: int | str) -> None:
    properties = {"b": "x", "n": "5", "d": " 5.5 ", "t": "tRuE", "large": "9223372036854775807"}
    assert outcome(text, **properties, word="so it's") == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("a = 5", "+5", T),
        ("a = 5", "005", T),
        ("a = 5", "٥", T),
        ("a = 5", "𝟓", E),
        ("a = 5", " 5", E),
        ("a = 5", "5.0", E),
        ("a = 5", "1_0", E),
        ("a = -2147483648", "-2147483648", T),
        ("a = 5", "2147483648", E),
        ("a > 2147483648", "9223372036854775808", E),
        ("a > 5.0", "NaN", T),
        ("a > 5.0", "-Infinity", F),
        ("a > 5.0", "nan", E),
        ("a > 5.0", "0x1p3", T),
        ("a > 5.0", "0x1p9999", T),
        ("a > 5.0", "-0x1p9999", F),
        ("a > 5.0", "6d", T),
        ("a > 5.0", "1_0", E),
        ("a > 5.0", "\u00a06", E),
        ("a > 5.0", "1e999", T),
    ],
)
def test_numbers_are_read_as_java_reads_them(text: str, value: str, expected: int | str) -> None:
    assert outcome(text, a=value) == expected


def test_minus_zero_is_below_zero() -> None:
    assert outcome("a < b", a="-0.0", b="0.0") == T
    assert outcome("a < b", a="NaN", b="NaN") == F
    assert outcome("a >= b", a="NaN", b="Infinity") == T


def test_only_true_matches() -> None:
    found = {
        text: parse(text).matches(b"b\x01x\x02")
        for text in ("b = 'x'", "b = 'y'", "c = 'x'", "b > 5")
    }
    assert found == {"b = 'x'": True, "b = 'y'": False, "c = 'x'": False, "b > 5": False}


def test_properties_that_are_not_text_are_looked_at_all_the_same() -> None:
    assert not parse("b = 'x'").matches(b"b\x01\xff\x02")
    assert parse("b IS NOT NULL").matches(b"b\x01\xff\x02")


def test_one_message_costs_only_so_much() -> None:
    """Thousands of searches in one long value: such a message does not match."""
    text = " OR ".join(["a CONTAINS 'ab'"] * 300)
    assert not parse(text).matches(b"a\x01" + b"b" * 32_000 + b"\x02")
    assert parse(text).truth(b"a\x01" + b"b" * 200 + b"\x02") == FALSE
    with pytest.raises(Overworked):
        parse(text).truth(b"a\x01" + b"b" * 32_000 + b"\x02")


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "ab", "ba"]), st.text(st.characters(min_codepoint=3), min_size=1)
    )
)
def test_the_raw_bytes_say_what_the_table_says(properties: dict[str, str]) -> None:
    block = format_properties(properties)
    for name in ("a", "b", "ab"):
        assert parse(f"{name} IS NULL").matches(block) == (name not in properties)
