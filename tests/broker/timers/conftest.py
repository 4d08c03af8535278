"""Fixtures for timers on a mock clock."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from tests.broker.timers.timing import Timing


@pytest.fixture
async def timing(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Timing]:
    """Tests that use it name `autojump_clock` too: pytest-trio looks at their arguments only."""
    made = Timing(tmp_path / "store", nursery)
    await made.start()
    yield made
    made.kill()
