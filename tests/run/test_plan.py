"""What `make proof SINCE=` plays of a group, and what it says of each part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.run import changed as changed_module
from tests.run import choosing, parts, plan, played, table, tools
from tests.run.part import Group, Part
from tests.run.report import Outcome

LANDED = "a" * 40


@pytest.fixture(autouse=True)
def nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played, "landed", lambda: LANDED)
    monkeypatch.setattr(played, "due", lambda parts: [])


def chosen(
    monkeypatch: pytest.MonkeyPatch, changed: Sequence[str] | None, turn: int | None = 0
) -> tuple[list[str], dict[str, str]]:
    """Names of those that are played, and why each of the others is not."""
    asked = []

    def changed_files(since: str) -> list[str] | None:
        asked.append(since)
        return None if changed is None else list(changed)

    monkeypatch.setattr(changed_module, "changed_files", changed_files)
    group, left, why = plan.chosen(Group(table.live_parts()), plan.LANDED, turn)
    assert asked == [LANDED]
    assert [line.split()[0] for line in why] == [part.name for part in group.parts]
    return [part.name for part in group.parts], {one.name: one.why for one in left}


def of_turn(turn: int) -> set[str]:
    return {part.name for part in table.live_parts() if part.turn in (None, turn)}


@pytest.mark.parametrize(
    "changed", [["store/appending/appender.py"], ["compat_tests/conftest.py"], None]
)
def test_what_touches_all_parts_plays_those_whose_turn_it_is(
    monkeypatch: pytest.MonkeyPatch, changed: list[str] | None
) -> None:
    every = {part.name for part in table.live_parts()}
    for turn in range(table.TURNS):
        names, left = chosen(monkeypatch, changed, turn)
        assert set(names) == of_turn(turn)
        assert left == dict.fromkeys(every - of_turn(turn), plan.OTHER_TURN)
    names, left = chosen(monkeypatch, changed, None)
    assert (set(names), left) == (every, {})
    assert set().union(*map(of_turn, range(table.TURNS))) == every


def test_what_touches_a_part_itself_waits_for_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    (elastic,) = (part for part in table.live_parts() if part.name == "elastic")
    assert elastic.turn not in (None, 0)
    names, left = chosen(monkeypatch, ["broker/elastic/maps.py", "store/appending/appender.py"], 0)
    assert "elastic" in names
    assert left["spark"] == plan.OTHER_TURN
    names, left = chosen(monkeypatch, ["broker/elastic/maps.py"], 0)
    assert "elastic" in names
    assert left["spark"] == choosing.UNCHANGED


def test_a_part_that_is_due_waits_for_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played, "due", lambda parts: ["elastic", "spark"])
    names, _ = chosen(monkeypatch, ["store/appending/appender.py"], 0)
    assert {"elastic", "spark"} <= set(names)
    names, _ = chosen(monkeypatch, ["CHANGELOG.md"], 0)
    assert names == ["spark", "elastic"]


def test_what_has_passed_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    noted = []
    monkeypatch.setattr(played, "note", lambda names, landed: noted.append((names, landed)))
    none = Part("lint", ("make", "lint"))
    codes = {"elastic": 0, "spark": 1, none.name: 0}
    plan.note([Outcome(name, code, 1.0, 1.0, table.ROOT) for name, code in codes.items()])
    assert noted == [(["elastic"], LANDED)]


def test_it_can_be_told_and_not_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(changed_module, "changed_files", lambda since: ["broker/elastic/maps.py"])
    monkeypatch.setattr(parts, "own_folder", pytest.fail)
    monkeypatch.setattr(tools, "missing", lambda names: [])
    monkeypatch.setenv("TRIMQ_TURN", "all")
    assert parts.main(["build", "proof"], plan.LANDED, planned=True) == 0
    said = capsys.readouterr().out
    assert "proof:\n    clients             broker/elastic/maps.py: watched\n" in said
    # Nothing need be compiled for that.
    assert f"    compiled-store      {choosing.OTHER}\n" in said
    assert f"    spark               {choosing.UNCHANGED}\n" in said
    assert "minutes on two cores" in said


def test_a_commit_that_is_not_there_is_refused_but_for_what_landed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changed_module, "is_unknown", lambda since: True)
    with pytest.raises(SystemExit, match="SINCE=HAED: there is no such commit here"):
        plan.refuse_unknown("HAED")
    for since in ("", plan.LANDED):
        plan.refuse_unknown(since)
    monkeypatch.setattr(changed_module, "is_unknown", lambda since: False)
    plan.refuse_unknown("HEAD")
