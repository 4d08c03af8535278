"""Our mqadmin without any server: it is told what the real one has told it before, and prints what the official one
printed then.

`--record` makes the records anew, while the live cases are played.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.comparing.records import Records
from compat_tests.mqadmin import recorded
from compat_tests.mqadmin.case import AdminCase
from compat_tests.mqadmin.cases.catalogue import CASES
from compat_tests.mqadmin.cases.failures import FAILURES
from compat_tests.mqadmin.texts import check_failure


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
