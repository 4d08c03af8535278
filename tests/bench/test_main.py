"""What `python -m bench` does around its parts."""

from __future__ import annotations

import sys

import pytest

from bench import __main__ as command
from bench import report
from bench.subjects import KINDS, OURS, REAL


@pytest.fixture
def ran(monkeypatch):
    """Runs the command with words, on one part that keeps what it was given; gives that and the kept sections."""

    def run(*words, measure=lambda run: "figures"):
        runs, kept = [], []

        def part(run):
            (run.folder / "store").mkdir()
            runs.append(run)
            return measure(run)

        monkeypatch.setattr(command, "PARTS", {"one": command.Part("One", part)})
        monkeypatch.setattr(report, "write_section", lambda *section: kept.append(section))
        # It is the test that gets signals.
        monkeypatch.setattr(command.signal, "signal", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        try:
            command.main()
        finally:
            assert not any(run.folder.exists() for run in runs)
        return runs[0], kept

    return run


def test_a_smoke_run_is_short_and_keeps_nothing(ran):
    run, kept = ran("--smoke")
    assert (run.smoke, run.rounds, run.seconds, run.kinds) == (True, 1, 1, (OURS,))
    assert run.warmup < 1
    assert not kept


def test_figures_that_count_are_kept(ran):
    run, kept = ran("one", "--rounds", "2", "--seconds", "4")
    assert (run.smoke, run.rounds, run.seconds, run.kinds) == (False, 2, 4, KINDS)
    assert kept == [("one", "One", "figures")]


@pytest.mark.parametrize(
    ("words", "kinds"), [(["--no-pure"], KINDS[:2]), (["--smoke", "--real"], (REAL, OURS))]
)
def test_the_kinds_of_servers_can_be_chosen(ran, words, kinds):
    assert ran(*words)[0].kinds == kinds


def test_a_part_that_fails_fails_the_command(ran):
    def fail(run):
        raise RuntimeError("a reply was wrong")

    with pytest.raises(RuntimeError, match="a reply was wrong"):
        ran("--smoke", measure=fail)
