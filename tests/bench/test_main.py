"""What `python -m bench` does around its parts."""

from __future__ import annotations

import sys

import pytest

from bench import __main__ as command
from bench.pages import docs, report
from bench.servers.subjects import KINDS, OTHER, OURS, PURE, REAL
from bench.servers.trees import Against


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
        monkeypatch.setattr(report, "write_section", lambda *section, **_: kept.append(section))
        monkeypatch.setattr(docs, "write", lambda *_: [])
        monkeypatch.setattr(command, "compiled_for_tests", lambda _: False)
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
    assert run.pace.limit < 1
    assert run.ramp < 1
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


def test_what_was_compiled_for_tests_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(command, "PARTS", {"one": None})
    monkeypatch.setattr(command, "compiled_for_tests", lambda _: True)
    monkeypatch.setattr(sys, "argv", ["bench", "one"])
    with pytest.raises(SystemExit):
        command.main()
    assert "run 'make tree'" in capsys.readouterr().err


def test_a_part_that_fails_fails_the_command(ran):
    def fail(run):
        raise RuntimeError("a reply was wrong")

    with pytest.raises(RuntimeError, match="a reply was wrong"):
        ran("--smoke", measure=fail)


@pytest.fixture
def other_tree(monkeypatch, tmp_path):
    found = Against(tmp_path / "build" / "compiled", "1111111111", "2222222222")
    monkeypatch.setattr(command.trees, "against", lambda path: found)
    return found


@pytest.mark.parametrize(
    ("words", "kinds"), [([], (OTHER, OURS)), (["--real"], (REAL, OTHER, OURS))]
)
def test_two_trees_are_measured_in_one_run_and_nothing_is_kept(ran, other_tree, words, kinds):
    run, kept = ran("--against", "../other", *words)
    assert (run.kinds, run.against) == (kinds, other_tree)
    assert [kind for _, kind in run.turns()][: 2 * len(kinds)] == [
        *kinds,
        *kinds[1:],
        kinds[0],
    ]
    assert not kept


def test_what_two_trees_showed_is_kept_beside_the_part_when_it_is_wanted(ran, other_tree):
    _, [(name, title, text)] = ran("--against", "../other", "--keep")
    assert (name, title) == ("one-against", "One: two trees")
    assert text.startswith("That tree: 2222222222. This tree: 1111111111.")


def test_a_tree_that_cannot_be_measured_is_reported_at_once(ran, capsys):
    with pytest.raises(SystemExit):
        ran("--against", "/nowhere")
    assert "is no checkout of TriMQ" in capsys.readouterr().err


def test_some_rows_of_a_part_are_not_its_figures(ran):
    run, kept = ran("--rows", "sends", "--rows", "hot pulls")
    assert run.wants("sends/s, one request at a time")
    assert run.wants("msg/s, hot pulls of 32")
    assert not run.wants("msg/s, cold pulls of 32")
    assert not kept


def test_what_needs_a_new_process_has_half_as_many_rounds(ran):
    assert ran("--rounds", "3")[0].lives == 2
    assert ran("--rounds", "1")[0].lives == 1


def test_plain_python_takes_part_once(ran):
    run, _ = ran("--rounds", "3")
    assert [kind for _, kind in run.turns()].count(PURE) == 1
