"""What the growth part makes of its figures: medians, tables, verdicts, fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.pages.costs import Points, costs, fit_words, fitted, table_of
from bench.servers.subjects import OURS, REAL
from bench.store import page

SIZES = [1.0, 128.0, 1024.0, 16384.0, 131072.0, 1048576.0]


def points(values):
    found = Points()
    for repeat in values:
        for step, micros in repeat.items():
            found.add(step, {"send, us": micros, "send, msg/s": 1e6 / micros})
    return found


def test_a_row_has_the_medians_of_a_step():
    ours = points([{1: 10.0, 100: 11.0}, {1: 30.0, 100: 11.5}, {1: 10.5, 100: 2.0}])
    table = table_of("T", "N", "topics", "topics", {OURS: ours})
    assert table.columns == ["topics", "send, us", "send, msg/s"]
    assert [row[:2] for row in table.rows] == [[1, 10.5], [100, 11.0]]
    assert page.verdict(table) == "Flat: send (x 1.05)."
    assert [(curve.file, curve.columns) for curve in table.curves] == [("growth-topics.svg", [1])]


def test_the_real_broker_has_columns_of_its_own_and_is_judged_too():
    table = table_of(
        "T",
        "N",
        "topics",
        "topics",
        {OURS: points([{1: 10.0, 9: 11.0}]), REAL: points([{1: 40.0, 9: 80.0}])},
    )
    assert costs(table.columns) == [1, 3]
    assert table.columns[3] == "real: send, us"
    assert page.verdict(table) == "Flat: send (x 1.10). Not flat: real: send (x 2.00)."


@given(fixed=st.floats(1, 1000), each=st.floats(0.01, 100))
def test_a_cost_that_is_so_is_found(fixed, each):
    found = fitted(SIZES, [fixed + each * size / 1024 for size in SIZES])
    assert found == (pytest.approx(fixed, rel=1e-3), pytest.approx(each, rel=1e-3))


def test_small_bodies_count_as_much_as_large_ones():
    fixed, each = fitted(SIZES, [20, 20, 21, 36, 148, 1300])
    assert 19 < fixed < 21
    assert 0.9 < each < 1.3


def test_the_fit_says_how_far_it_is_off():
    table = table_of(
        "T", "N", "bytes", "bodies", {OURS: points([{1: 20.0, 1024: 21.0, 1 << 20: 1044.0}])}
    )
    assert fit_words(table) == (
        "send: 20.0 us a message and 1.00 us a KiB; no point is more than 0 % off."
    )
