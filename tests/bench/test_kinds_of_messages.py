"""What the parts on transactions, timers, filters and replies read from programs, and conclude from it."""

from __future__ import annotations

import pytest

from bench.loads import programs
from bench.loads.programs import Ran, Rate
from bench.loads.settling import WarmUp
from bench.pages import docs, verdicts
from bench.pages.figures import Figures
from bench.parts import filters, pending, replies, timers, transactions
from bench.servers.subjects import OURS, REAL

TRANSACTIONS = (
    "Current Time: 1790000000000 | Send TPS: {} | Max RT(ms):    31 | AVG RT(ms): 1.5 | Send Failed: {} | "
    "Check: {} | UnexpectedCheck: {} | DuplicatedCheck: 0"
)
TIMERS = "Send TPS: {}, Max RT: 20, Average RT:   0.512, Send Failed: {}, Response Failed: {}"


def compared(**both):
    figures = Figures()
    for name, (real, ours) in both.items():
        figures.add(name, REAL, real)
        figures.add(name, OURS, ours)
    return figures


def test_a_report_of_the_transaction_producer_is_read():
    reports = ((100, 9, 7, 1), (600, 0, 40, 3), (900, 0, 0, 0))
    lines = [TRANSACTIONS.format(*words) for words in reports]
    assert programs._rate(lines, 1, transactions.program()) == Rate(750, 1.5)
    ran = Ran(Rate(750, 1.5), WarmUp(10, True, ()), ["banner", *lines], 2)
    assert transactions.checks(ran) == {transactions.CHECKS: 40, transactions.UNEXPECTED: 4}


def test_failures_of_one_report_count_by_themselves_and_totals_when_they_grow():
    # The first report is of a JVM that has just started.
    first, later = TRANSACTIONS.format(9, 4, 0, 0), TRANSACTIONS.format(9, 1, 0, 0)
    assert programs._rate([first], 0, transactions.program()) == Rate(9, 1.5)
    with pytest.raises(RuntimeError, match="sends failed"):
        programs._rate([first, later], 0, transactions.program())
    same = [TIMERS.format(500, 2, 0), TIMERS.format(700, 2, 0)]
    assert programs._rate(same, 1, timers.program()) == Rate(700, 0.512)
    with pytest.raises(RuntimeError, match="sends failed"):
        programs._rate([*same, TIMERS.format(700, 2, 1)], 1, timers.program())


def due(**changes):
    times = {"earliest_ms": 900, "p50_ms": 1000, "p99_ms": 1400, "last_ms": 1600}
    found = {"failed": 0, "missing": 0, "sent_before_ms": 50, "received": times, "stored": times}
    return timers.lateness({**found, **changes})


def test_lateness_is_taken_from_a_whole_run_only():
    assert due()[timers.LAST] == 1600
    for changes, said in (
        ({"missing": 3}, "3 never came"),
        ({"failed": 2}, "2 sends failed"),
        ({"sent_before_ms": -7}, "7 ms after"),
    ):
        with pytest.raises(RuntimeError, match=said):
            due(**changes)


@pytest.mark.parametrize(
    ("real", "ours", "met"), [(1400, 1300, "met"), (1200, 1300, "missed"), (1700, 1600, "missed")]
)
def test_the_later_of_two_limits_does_not_excuse_the_other(real, ours, met):
    figures = compared(late=(real, ours))
    assert verdicts.of_lateness(figures, "late", 1500).endswith(f": {met}.")
    assert verdicts.of_lateness(figures, "never measured") == ""


@pytest.mark.parametrize(
    ("ours", "met"), [(99, "missed"), (100, "met"), (130, "met, and the aim too")]
)
def test_rates_have_a_floor_and_an_aim(ours, met):
    figures = compared(**{transactions.RATE: (100, ours)})
    assert verdicts.of_rates(figures, [transactions.RATE, timers.RATE]).endswith(f"is {met}.")


def test_pages_judge_the_same_rates():
    names = [transactions.RATE, timers.RATE, filters.rate(1), replies.rate(16)]
    table = docs.floors(compared(**{name: (100, 120) for name in names}))
    assert table.count("the floor") == len(names)


def test_a_million_pending_are_judged_by_every_promise():
    figures = Figures()
    assert all(line.endswith("not measured") for line in pending.judged(figures))
    for name, value in ((pending.MEMORY, 90.0), (pending.IDLE, 0.4), (pending.READY, 1.2)):
        figures.add(name, OURS, value)
    seconds = pending.longest_step("# HELP x\n# TYPE x\ntrimq_loop_longest_step_seconds 0.0041\n")
    figures.add(pending.STEP_FILLING, OURS, seconds * 1000)
    figures.add(pending.STEP_IDLING, OURS, 5.0)
    kept = [line.rpartition(": ")[2] for line in pending.judged(figures)]
    assert kept == ["met", "met", "missed", "met", "missed"]
    with pytest.raises(RuntimeError, match="has no"):
        pending.longest_step("")
