"""A newcomer on a Debian with Python, git and make alone: it serves, `make test` is green, pip installs it."""

from __future__ import annotations

import re

import pytest

import trimq
from compat_tests.installs import plain_debian
from compat_tests.installs.newcomer import BODY
from compat_tests.installs.plain_debian import LEFT_OUT, Played

# Those that need nothing else.
PLAYED = ("unit", "unit-broker", "unit-store", "recorded")


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    if chosen not in request.config.getoption("--plain-debian"):
        pytest.skip("twelve minutes a Debian: --plain-debian trixie, or make soak")
    if reason := plain_debian.why_not():
        pytest.skip(reason)
    return chosen


@pytest.mark.parametrize("suite", plain_debian.SUITES, indirect=True)
def test_a_newcomer_needs_nothing_else(suite: str) -> None:
    found = plain_debian.played(suite)
    print(plain_debian.table([found]))
    assert found.said["seen"].splitlines() == [BODY]
    assert found.said["version"] == f"TriMQ {trimq.__version__} (pure Python)\n"
    for said in found.said.values():
        assert "Traceback" not in said, said[-4000:]
    assert_tested(found.said["test"])


def assert_tested(said: str) -> None:
    """All but what needs a tool was played, and each of the others is named with the command that gets its tool."""
    for part in PLAYED:
        row = re.search(rf"^{part} +\d+ +\d+ +(\d+) +\d+ +(\d+)$", said, re.MULTILINE)
        assert row is not None, said[-4000:]
        assert int(row[1]) > 100
        assert row[2] == "0"
    assert re.search(r"^lint +\d+ +\d+ +0 +0 +0$", said, re.MULTILINE)
    for part, why in LEFT_OUT.items():
        assert f"    {part:<20}{why}" in said


SAMPLE = """
part             seconds     CPU  passed skipped  failed
build                  1       1       0       0       0
unit-store           173     160    3200      26       0
lint                  60      55       0       0       0
unit                 189     120    2100      74       0
unit-broker          146     140    2926       0       0
recorded             170     150    2600      42       0
"""


def test_what_make_test_says_is_read() -> None:
    left = "".join(f"    {part:<20}{why}\n" for part, why in LEFT_OUT.items())
    assert_tested(SAMPLE + left)
    for wrong in (
        SAMPLE.replace("2926       0       0", "2925       0       1") + left,
        SAMPLE.replace("recorded", "recalled") + left,
        SAMPLE,
    ):
        with pytest.raises(AssertionError):
            assert_tested(wrong)


def test_the_table_has_a_column_for_each() -> None:
    found = [
        Played(suite, python, dict.fromkeys(plain_debian.STEPS, 1.4), {})
        for suite, python in (("trixie", "3.13.5"), ("bookworm", "3.11.2"))
    ]
    lines = plain_debian.table(found).splitlines()
    assert lines[0] == "| step | trixie, Python 3.13.5 | bookworm, Python 3.11.2 |"
    assert [line.count("|") for line in lines] == [4] * (2 + len(plain_debian.STEPS))
    assert lines[2].endswith("| 1 | 1 |")
