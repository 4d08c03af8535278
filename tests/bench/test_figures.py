"""What tables say: of one tree beside the real broker, of two trees, and of how servers were warmed."""

from __future__ import annotations

from bench.loads.settling import WarmUp
from bench.pages.figures import Figures
from bench.servers.subjects import OTHER, OURS, PURE, REAL
from compat_tests.servers.versions import REFERENCE


def figures(**values):
    found = Figures()
    for kind, several in values.items():
        for value in several:
            found.add("sends/s", kind, value)
    return found


def test_beside_the_real_broker_each_of_ours_has_a_ratio():
    found = figures(**{REAL: [100, 90, 300], OURS: [150, 140, 130], PURE: [50]})
    assert found.table().splitlines() == [
        f"| figure | real {REFERENCE} | TriMQ | ratio | TriMQ, pure Python | ratio |",
        "|---|---:|---:|---:|---:|---:|",
        "| sends/s | 100.0 | 140.0 | 1.40 | 50.0 | 0.50 |",
    ]


def test_two_trees_are_compared_round_by_round():
    # The machine got slower, for both.
    found = figures(**{OTHER: [1000, 900, 500], OURS: [1020, 909, 520]})
    assert found.ratios("sends/s", OURS, OTHER) == [1.02, 1.01, 1.04]
    assert found.table().splitlines() == [
        "| figure | that tree | this tree | this / that | by rounds | within 3 % |",
        "|---|---:|---:|---:|---:|---:|",
        "| sends/s | 900.0 | 909.0 | 1.010 | 1.01 to 1.04 | yes |",
    ]


def test_a_tree_that_is_slower_or_faster_is_not_within_three_percent():
    for rate in (96, 104):
        assert figures(**{OTHER: [100], OURS: [rate]}).table().endswith(" | no |")


def test_two_trees_may_have_the_real_broker_beside_them():
    found = figures(**{REAL: [50], OTHER: [100], OURS: [100]})
    head, _, row = found.table().splitlines()
    assert head.startswith(f"| figure | real {REFERENCE} | that tree | this tree |")
    assert row == "| sends/s | 50.0 | 100.0 | 100.0 | 1.000 | 1.00 to 1.00 | yes | 2.00 |"


def test_what_only_one_tree_has_is_not_judged():
    found = figures(**{OTHER: [100], OURS: [100]})
    found.add("new", OURS, 5)
    assert found.table().splitlines()[-1] == "| new | - | 5.000 | - | - | - |"


def test_every_row_says_how_both_servers_were_warmed():
    found = Figures()
    found.warmed("sends/s", REAL, WarmUp(90, False, (100.0, 100.0, 110.0)))
    found.warmed("sends/s", OURS, WarmUp(15, True, (1.0, 1.0, 1.0)))
    found.warmed("pulls/s", OURS, WarmUp(15, True, (1.0, 1.0, 1.0)))
    found.warmed("pulls/s", OURS, WarmUp(20, True, (1.0, 1.0, 1.0)))
    assert found.warm_up_table().splitlines() == [
        f"| warmed by | real {REFERENCE} | TriMQ |",
        "|---|---:|---:|",
        "| sends/s | 90 s, not settled (10% apart) | 15 s |",
        "| pulls/s | - | 15 s; 20 s |",
    ]
    assert Figures().warm_up_table() == ""


def test_looking_makes_no_rows():
    found = figures(**{REAL: [1]})
    assert found.median("other", OURS) is None
    assert found.names == ["sends/s"]
