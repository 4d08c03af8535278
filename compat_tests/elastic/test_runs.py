"""Groups of all kinds on elastic topics under official clients: see runs.py; test_long.py has more of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from compat_tests.elastic.playing import GO
from compat_tests.elastic.runs import Plan, check
from compat_tests.servers import artifacts

SHORT: Final = Plan((artifacts.CLIENT_5, artifacts.CLIENT_4, GO), (4, 16, 6), 100, 50, 100)


def test_every_kind_of_group_is_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(SHORT, tmp_path, capsys)
