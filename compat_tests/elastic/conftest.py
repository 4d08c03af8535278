"""Long runs are played with --live only, as before a release."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True: the file is left out; None: others decide."""
    is_long = collection_path.name == "test_long.py" and not config.getoption("--live")
    return True if is_long else None
