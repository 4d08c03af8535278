"""Which groups and topics a report is about; what Spark makes of it is tested with Spark."""

from __future__ import annotations

import pytest

from trimq.spark.offsets.snapshot.filters import Filters


@pytest.mark.parametrize(
    ("patterns", "name", "wanted"),
    [
        ((), "any", True),
        (("orders",), "orders", True),
        (("orders",), "orders2", False),
        (("orders*",), "orders2", True),
        (("order?",), "orders", True),
        (("order?",), "orders2", False),
        # Nothing else is wild: neither a shell's classes nor a regular expression.
        (("a.c",), "abc", False),
        (("[ab]",), "a", False),
        (("x", "b*"), "bb", True),
    ],
)
def test_names(patterns: tuple[str, ...], name: str, wanted: bool) -> None:
    assert Filters(groups=patterns).wants_group(name) is wanted
    assert Filters(topics=patterns).wants_topic(name, "g") is wanted


def test_a_groups_own_topics_go_with_it() -> None:
    filters = Filters(topics=("T",))
    assert filters.wants_topic("%RETRY%g", "g")
    assert filters.wants_topic("%DLQ%g", "g")
    assert not filters.wants_topic("%DLQ%other", "g")


def test_patterns_that_match_nothing_are_reported() -> None:
    filters = Filters(("my-*", "mine"), ("Orders",))
    assert filters.without_match(["my-group"], ["Orders"]) == [
        "no group in this report matches 'mine'"
    ]
    assert Filters().without_match([], []) == []
