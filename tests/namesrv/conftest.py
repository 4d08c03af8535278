"""One NameServer for each test."""

from pathlib import Path

import pytest

from tests.namesrv.parts import Parts


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path)
