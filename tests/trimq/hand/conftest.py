"""A server in this process with looks, a client, and whoever asks as HTTP does."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.trimq.hand.looking import Looking, looking

Opens = Callable[..., AbstractAsyncContextManager[Looking]]


@pytest.fixture
def opens(tmp_path: Path) -> Opens:
    """`async with opens() as it`; settings by name."""

    def opening(**settings: str) -> AbstractAsyncContextManager[Looking]:
        return looking(tmp_path / "store", settings)

    return opening
