"""What the benchmark parts conclude from their figures."""

from __future__ import annotations

import pytest

from bench.loads import loadgen
from bench.pages.figures import Figures
from bench.parts import brokers, flush, started, tail
from bench.servers import syncs
from bench.servers.subjects import OURS, PURE, REAL


@pytest.mark.parametrize(
    ("found", "own", "real", "said"),
    [
        (2.0, 1.0, 0.5, "yes"),
        (2.1, 1.0, 4.2, "yes, 0.50 of the real broker's"),
        (2.1, 1.0, 2.1, "no"),
        (2.1, 1.0, None, "no"),
        (None, 1.0, 1.0, "not measured"),
        (1.0, None, 2.0, "not measured"),
    ],
)
def test_a_tail_is_judged_by_its_own_and_by_the_real_one(found, own, real, said):
    assert tail.verdict(found, own, real) == said


def test_the_tail_has_a_verdict_for_every_figure_and_every_kind():
    figures = Figures()
    for name in (tail.UNDISTURBED, *tail.DISTURBED):
        for percentile in tail.PERCENTILES:
            for kind, value in ((REAL, 2.0), (OURS, 1.0)):
                figures.add(f"{percentile}, ms, {name}", kind, value)
    lines = tail.verdicts(figures, [OURS, PURE]).splitlines()
    assert len(lines) == 2 + 4 * 3
    assert lines[2] == "| p50, a cold backlog is read | 1.00 | 1.00 | yes | - | not measured |"


def test_flushing_is_judged_by_its_rates():
    figures = Figures()
    for producers, rate in (("1 producer", 90), ("16 producers", 100), ("64 producers", 110)):
        figures.add(f"sends/s, {producers}", REAL, 100)
        figures.add(f"sends/s, {producers}", OURS, rate)
    (line,) = flush.verdicts(figures, (REAL, OURS))
    assert line.endswith("is missed: 0.90 with 1 producer.")
    for _ in range(2):
        figures.add("sends/s, 1 producer", OURS, 120)
    assert flush.verdicts(figures, (REAL, OURS))[0].endswith("is met everywhere.")


def test_syncs_are_summed_over_all_calls():
    line = "{},,syscalls:sys_enter_{},2193742,100.00,,\n"
    output = "".join(line.format(number, call) for number, call in enumerate(syncs.CALLS, start=5))
    assert syncs.parse(f"# started\n{output}") == 5 + 6 + 7
    with pytest.raises(ValueError, match="did not count"):
        syncs.parse(output.partition("\n")[0])


def test_a_flag_of_the_load_generator_follows_its_name(monkeypatch):
    monkeypatch.setattr(loadgen, "program", lambda: "loadgen")
    words = loadgen.command("pull", "127.0.0.1:1", once=True, count=3)
    assert words == ["loadgen", "pull", "-addr=127.0.0.1:1", "-once=True", "-count=3"]


def test_the_first_seconds_are_means_from_the_beginning_on():
    rates = [100.0, 300.0, 500.0, 500.0, 500.0, 500.0, 9000.0]
    assert list(started.first(rates)) == [(5, 100), (10, 200), (30, 400)]
    # A load that was given up has no thirty seconds.
    assert list(started.first(rates[:3])) == [(5, 100), (10, 200)]


def test_several_brokers_are_judged_by_one_and_by_the_cores_there_are():
    figures = Figures()
    rates = (
        (brokers.PLAIN, 100),
        ("--brokers 1", 97),
        ("--brokers 2", 90),
        ("--brokers 4", 320),
    )
    for name, rate in rates:
        figures.add(name, OURS, rate)
    assert brokers.verdicts(figures, 2) == [
        "--brokers 1: 0.97 of a plain server, the floor of 0.97 is met.",
        "--brokers 2: 0.93 of --brokers 1, the floor of 0.95 is missed.",
        "--brokers 4: skipped, it needs 8 cores and there are 2.",
    ]
    *_, last = brokers.verdicts(figures, 8)
    assert last == "--brokers 4: 3.30 of --brokers 1, the floor of 3.2 is met."
