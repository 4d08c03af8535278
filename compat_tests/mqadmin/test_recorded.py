"""Our mqadmin without any server: it is told what the real one has told it before, and prints what the official one
printed then.

`--record` makes the records anew, while the live cases are played.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat_tests.comparing.records import FOLDER, Records
from compat_tests.mqadmin import recorded
from compat_tests.mqadmin.case import AdminCase
from compat_tests.mqadmin.cases.catalogue import CASES
from compat_tests.mqadmin.cases.failures import FAILURES
from compat_tests.mqadmin.texts import check_failure


def test_all_is_recorded_and_nothing_else(records: Records) -> None:
    """A record of a case that is gone is to be deleted by hand: a line."""
    if records.writing:
        pytest.skip("not all is written yet")
    files = [file for file in (FOLDER / "mqadmin").glob("*.json") if file.stem != "bodies"]
    kept = [name for file in files for name in json.loads(file.read_bytes())["outcomes"]]
    cases = {str(case) for case in CASES}
    assert recorded.LIVE.keys() <= cases
    assert sorted(kept) == sorted([*(cases - recorded.LIVE.keys()), *(f[0] for f in FAILURES)])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_text_as_recorded(records: Records, case: AdminCase, tmp_path: Path) -> None:
    if str(case) in recorded.LIVE:
        pytest.skip(f"stays live: {recorded.LIVE[str(case)]}")
    if records.writing:
        pytest.skip("recorded and tried by test_same_text")
    recorded.check(case, recorded.find(records, case), tmp_path)


@pytest.mark.parametrize(("line", "code", "sentence"), FAILURES, ids=[f[0] for f in FAILURES])
def test_failures_are_sentences_as_recorded(
    records: Records, line: str, code: int, sentence: str, tmp_path: Path
) -> None:
    if records.writing:
        pytest.skip("recorded and tried by test_failures_are_sentences")
    found = recorded.find_failure(records, line)
    check_failure(recorded.play_failure(line, found, tmp_path), code, sentence)
