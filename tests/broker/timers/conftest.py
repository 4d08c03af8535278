"""Fixtures for timers on a mock clock."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.timers.timing import Timing


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Virtual time runs on while a thread works, so work is done where it is asked for.

    By a patch of its own: tests undo theirs in the middle, and from there on threads would outrun the clock, and work
    on a store that was killed.
    """

    async def run(act: Any, *arguments: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return act(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio.to_thread, "run_sync", run)
        yield


@pytest.fixture
async def timing(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Timing]:
    """Tests that use it name `autojump_clock` too: pytest-trio looks at their arguments only."""
    made = Timing(tmp_path / "store", nursery)
    await made.start()
    yield made
    made.kill()
