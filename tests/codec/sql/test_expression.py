"""Which properties decide an expression, as long as their values are short."""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from trimq.codec.records.properties import format_properties
from trimq.codec.sql.building import Unreadable
from trimq.codec.sql.grammar import parse


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("TRUE", ""),
        ("1 = 2", ""),
        ("a", "a"),
        ("n = 7 OR n > 9", "n"),
        ("a = b AND c IS NULL OR NOT d", "abcd"),
        ("a BETWEEN b AND c", "abc"),
        ("a NOT BETWEEN 1 AND b", "ab"),
        ("a IN ('x', 'y') OR b NOT IN ('x')", "ab"),
        ("a CONTAINS 'x' AND b NOT STARTSWITH 'y'", "ab"),
        ("-a IS NULL", "a"),
        ("a IS NOT NULL", "a"),
        ("(a = 1) = (b = 2)", "ab"),
    ],
)
def test_names(text: str, names: str) -> None:
    found = parse(text).deciding(8)
    assert found is not None
    assert sorted(found) == [f"{name}\x01".encode() for name in names]


def test_no_more_names_than_asked_for() -> None:
    text = "a = 1 OR b = 1 OR c = 1"
    assert parse(text).deciding(2) is None
    assert parse(text).deciding(3) is not None


def test_what_may_cost_too_much_is_not_decided_by_values() -> None:
    """Then the size of other properties counts, too."""
    chain = " OR ".join(["n = 1"] * 2000)
    assert parse(chain).deciding(8) is None
    assert parse(" OR ".join(["n = 1"] * 500)).deciding(8) == (b"n\x01",)


operands = st.sampled_from(["a", "b", "c", "1", "-2.5", "'x'", "'1'", "TRUE", "-a"])
comparisons = st.sampled_from(["{} = {}", "{} <> {}", "{} > {}", "{} <= {}", "{} BETWEEN 0 AND {}"])
conditions = st.builds(
    lambda how, left, right: how.format(left, right), comparisons, operands, operands
)
texts = st.lists(
    conditions | st.sampled_from(["a IS NULL", "b IN ('1')", "NOT c"]), min_size=1, max_size=4
)
values = st.dictionaries(
    st.sampled_from("abcd"), st.sampled_from(["1", "x", "", "true", "-2.5", "1e1"])
)


@given(texts, st.sampled_from([" AND ", " OR "]), values, values)
def test_messages_that_agree_in_them_have_one_verdict(
    parts: list[str], word: str, one: dict[str, str], other: dict[str, str]
) -> None:
    try:
        expression = parse(word.join(f"({part})" for part in parts))
    except Unreadable:
        reject()
    names = expression.deciding(8)
    assert names is not None
    decisive = [name.decode()[:-1] for name in names]
    alike = {name: value for name, value in other.items() if name not in decisive}
    alike |= {name: value for name, value in one.items() if name in decisive}
    assert expression.matches(format_properties(one)) == expression.matches(
        format_properties(alike)
    )
