"""Subscription expressions."""

import pytest

from trimq.broker.filters import tags as tag_filters
from trimq.broker.filters.tags import (
    SubscriptionUnreadable,
    build_subscription,
    is_tag_type,
    parse_tag_codes,
    parse_tags,
    requested_codes,
)


@pytest.mark.parametrize(
    ("expression", "tags"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("A", {"A"}),
        (" A ||B || A", {"A", "B"}),
        ("A||", {"A"}),
        ("||A", {"A"}),
        (" ", set()),
        (" || ", set()),
        ("|||", {"|"}),
        ("A*", {"A*"}),
    ],
)
def test_tags(expression, tags):
    assert parse_tags(expression) == tags


@pytest.mark.parametrize("expression", ["||", "||||"])
def test_separators_alone(expression):
    with pytest.raises(SubscriptionUnreadable):
        parse_tags(expression)


def test_hashes_are_those_of_java():
    assert parse_tag_codes("TagA") == {2598919}


def test_types():
    assert [is_tag_type(kind) for kind in (None, "", "TAG", "SQL92", "tag")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert requested_codes("A", "TAG") == {65}
    assert requested_codes("A", "") == frozenset()
    assert requested_codes("*", "") is None


def test_a_subscription_of_a_pull():
    subscription = build_subscription("T", "A", None, 7)
    assert (subscription.topic, subscription.sub_string, subscription.code_set) == ("T", "A", {65})
    assert build_subscription("T", "", None, 7).sub_string == "*"
    assert build_subscription("T", "a>1", "SQL92", 7).expression_type == "SQL92"


def test_long_expressions_are_not_remembered_and_longer_ones_refused():
    before = tag_filters._remembered_tags.cache_info().currsize
    for number in range(5):
        assert len(parse_tags(f"{number}||" + "||".join(f"tag{n}" for n in range(300)))) == 301
        assert len(parse_tag_codes("x" * 1025 + str(number))) == 1
    assert tag_filters._remembered_tags.cache_info().currsize == before
    for parse in (parse_tags, parse_tag_codes):
        parse("x" * 65_536)
        with pytest.raises(SubscriptionUnreadable, match="65537 characters"):
            parse("x" * 65_537)
