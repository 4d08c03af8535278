"""Which texts are expressions, and what is said of those that are not."""

import subprocess
import sys

import pytest

from trimq.codec.sql.building import MOST_NESTED, Unreadable
from trimq.codec.sql.grammar import LONGEST_TEXT, Parsing, parse
from trimq.codec.sql.null_logic import FALSE, TRUE, UNKNOWN

FIVE = b"a\x015\x02b\x01x\x02"


@pytest.mark.parametrize(
    "text",
    [
        "a > 5 AND b = 'x'",
        "a between 1 and 3 or b In ('x', 'y') or not c is null",
        "a -- to the end of the line\r\n= /* and ** this */ 5",
        "$a <> _b",
        "a = 'it''s'",
        "a = 5L AND a <> .5 AND a <= 1E+3",
        "5 CONTAINS 'x'",
        "TRUE = FALSE",
        "NULL",
    ],
)
def test_expressions(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a = 5 x", "a = 5"),
        ("a = 5 )", "a = 5"),
        ("a = 007", "a = 0"),
        ("a = 5 -- no end of the line", "a = 5"),
        ("a = 0L", "a = 0"),
        ("a", "a"),
    ],
)
def test_what_follows_a_complete_expression_is_ignored(text: str, same: str) -> None:
    for properties in (b"", FIVE, b"a\x010\x02"):
        assert parse(text).truth(properties) == parse(same).truth(properties)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at the end: expected ( or + or - or FALSE or NOT or NULL or TRUE or a 'text'"),
        ("a >", "at the end"),
        ("a == 5", "at character 4: expected"),
        (
            "a = 5 NOT x",
            "at character 11: expected BETWEEN or CONTAINS STARTSWITH ENDSWITH or IN, not 'x'",
        ),
        ("a IS x", "at character 6: expected NOT or NULL, not 'x'"),
        ("(a = 5 x", "at character 8: expected ) or OR, not 'x'"),
        ("a = 'x", 'at character 5: nothing begins with "\'" here'),
        ("a = 5 #", "at character 7: nothing begins with '#' here"),
        ("5", "a condition was expected, not 5"),
        ("a AND 'x'", "a condition was expected, not 'x'"),
        ("NOT -a", "a condition was expected, not a number with a sign"),
        ("a > 'x'", "a name or a number was expected beside >, not 'x'"),
        ("a > TRUE", "a name or a number was expected beside >, not TRUE or FALSE"),
        ("(a = 5) > 3", "beside >, not a condition"),
        ("a = NULL", "IS NULL was expected"),
        ("TRUE = 5", "TRUE or FALSE cannot be compared with 5"),
        ("5 IN ('x')", "a name was expected before IN, not 5"),
        ("a NOT IN ('x') NOT IN ('y')", "a name was expected before NOT IN, not a condition"),
        ("a BETWEEN 5 AND 1", "BETWEEN 5 AND 1: the lower bound comes first"),
        ("a = 9223372036854775808", "at character 5: the number is beyond 9223372036854775807"),
        ("a = 0.0", "at character 5: the number is 0.0"),
        ("a = 1e400", "beyond what a double can be"),
    ],
)
def test_a_refusal_says_what_was_expected_where(text: str, said: str) -> None:
    with pytest.raises(Unreadable) as refused:
        parse(text)
    assert said in str(refused.value)


def test_letters_beyond_ascii_are_no_letters_of_key_words() -> None:
    """U+017F is an s to Python's regular expressions, when they look at letters of any case."""
    with pytest.raises(Unreadable):
        parse("(a i\u017f NULL)")


@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("NOT ", "")])
def test_so_deep_and_no_deeper(before: str, after: str) -> None:
    most = MOST_NESTED - 1
    assert parse(before * most + "TRUE" + after * most).truth(b"") in (TRUE, FALSE)
    with pytest.raises(Unreadable, match="nested more than 200 deep"):
        parse(before * (most + 1) + "TRUE" + after * (most + 1))


def test_chains_are_not_deep() -> None:
    for word, decisive in (("OR", "b = 'x'"), ("AND", "b = 'y'")):
        text = f" {word} ".join(["missing = 1"] * 2000 + [decisive])
        assert parse(text).truth(FIVE) == (TRUE if word == "OR" else FALSE)


def test_a_chain_of_comparisons_is_deep() -> None:
    parse("a" + " IS NULL" * 150)
    with pytest.raises(Unreadable, match="nested"):
        parse("a" + " IS NULL" * 300)


def test_between_inside_of_between_is_evaluated_in_bounds() -> None:
    """Each level evaluates what is inside twice: fifty of them, which nesting allows, would never end."""
    text = "1 BETWEEN 1 AND 2"
    for _ in range(10):
        text = f"-({text}) BETWEEN 1 AND 2"
    assert parse(text).truth(b"") == UNKNOWN
    for _ in range(30):
        text = f"-({text}) BETWEEN 1 AND 2"
    with pytest.raises(Unreadable, match="nested in what is before BETWEEN too often"):
        parse(text)


def test_so_long_and_no_longer() -> None:
    text = "a = '" + "x" * (LONGEST_TEXT - 6) + "'"
    assert parse(text).truth(b"") == UNKNOWN
    with pytest.raises(Unreadable, match="65537 characters is beyond the 65536 allowed"):
        parse(text + " ")
    # Java counts those outside the basic plane twice.
    with pytest.raises(Unreadable, match="beyond"):
        parse("a = '" + "\U0001f600" * (LONGEST_TEXT // 2) + "'")


def test_long_texts_are_read_in_steps() -> None:
    parsing = Parsing(" OR ".join(["a = 'x'"] * 500))
    assert sum(1 for _ in parsing.steps()) >= 30
    assert parsing.expression.matches(b"a\x01x\x02")


def test_a_server_without_filters_never_loads_lark() -> None:
    code = "import sys, trimq.wiring.broker; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
