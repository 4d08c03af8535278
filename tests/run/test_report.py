"""The summary of `make test`, from reports that pytest itself has written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.run import report

SKIPPED_WHOLE = """
import pytest

pytest.skip("there is no 'tool' here", allow_module_level=True)
"""
SKIPPED_ALONE = """
import pytest

def test_one():
    pytest.skip("not today")

def test_other():
    pass
"""


def outcome(folder: Path) -> report.Outcome:
    (folder / "pytest.ini").write_text("[pytest]\n")
    written = folder / "report.xml"
    words = ("-q", "-p", "no:cacheprovider", f"--junitxml={written}")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=folder, check=False, capture_output=True
    )
    return report.Outcome("part", ended.returncode, 1.0, 1.0, written)


def test_a_file_that_was_skipped_says_why(tmp_path: Path) -> None:
    (tmp_path / "test_whole.py").write_text(SKIPPED_WHOLE)
    (tmp_path / "test_alone.py").write_text(SKIPPED_ALONE)
    one = outcome(tmp_path)
    found = report.tests_of(one)
    assert (one.code, found.passed, found.failed) == (0, 1, 0)
    assert found.skipped == {"there is no 'tool' here": 1, "not today": 1}
    assert "       1  there is no 'tool' here" in report.text([one]).splitlines()


FAILING = """
from unittest import TestCase

class TestMachine(TestCase):
    def test_one(self):
        assert False

def test_other():
    assert False
"""


def test_what_failed_can_be_asked_for_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(FAILING)
    names = [*report.tests_of(outcome(tmp_path)).failures]
    assert names == ["test_some.py::TestMachine::test_one", "test_some.py::test_other"]
