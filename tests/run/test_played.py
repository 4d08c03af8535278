"""When parts were last played: which are due, and what the file keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run import played
from tests.run.part import Part
from tests.run.played import KEPT, LEFT_OUT, due, landed, note

PARTS = [Part(name, ()) for name in ("wire", "order", "java")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "played.json"


def test_a_part_is_due_after_five_landings_without_it(file: Path) -> None:
    note(["wire", "order", "java"], "c0", file)
    for number in range(1, LEFT_OUT):
        note(["wire"], f"c{number}", file)
        assert due(PARTS, file) == []
    note(["wire"], f"c{LEFT_OUT}", file)
    assert due(PARTS, file) == ["order", "java"]
    note(["order"], f"c{LEFT_OUT + 1}", file)
    assert due(PARTS, file) == ["java"]


def test_of_whom_nothing_is_noted_is_due(file: Path) -> None:
    assert due(PARTS, file) == ["wire", "order", "java"]
    assert landed(file) is None
    note(["order"], "c0", file)
    assert due(PARTS, file) == ["wire", "java"]
    assert landed(file) == "c0"


def test_several_notes_of_one_landing_are_one_landing(file: Path) -> None:
    note(["wire"], "c0", file)
    for part in ("order", "java", "order"):
        note([part], "c1", file)
    note([], "c2", file)
    assert json.loads(file.read_text()) == {
        "landed": ["c0", "c1", "c2"],
        "parts": {"java": "c1", "order": "c1", "wire": "c0"},
    }
    assert landed(file) == "c2"


def test_old_landings_are_forgotten(file: Path) -> None:
    note(["order"], "old", file)
    for number in range(KEPT):
        note(["wire"], f"c{number}", file)
    kept = json.loads(file.read_text())
    assert kept["landed"] == [f"c{number}" for number in range(KEPT)]
    assert kept["parts"] == {"wire": f"c{KEPT - 1}"}
    assert due(PARTS, file) == ["order", "java"]


def test_a_line_for_each_part_and_no_trace_of_writing(file: Path) -> None:
    note(["wire", "order"], "c0", file)
    before = file.read_text().splitlines()
    note(["java"], "c0", file)
    after = file.read_text().splitlines()
    assert [line for line in after if line not in before] == ['  "java": "c0",']
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_file_of_this_clone_is_as_it_would_be_written() -> None:
    known = played.Played.read(played.FILE)
    assert played.FILE.read_text() == known.text()
    assert known.landed
    assert len(known.landed) <= KEPT
    assert set(known.parts.values()) <= set(known.landed)
    assert all(len(commit) == 40 and int(commit, 16) for commit in known.landed)
    assert landed() == known.landed[-1]
