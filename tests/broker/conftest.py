"""A clock that is moved by hand."""

import pytest

from trimq.base.clock import Clock


class HandClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()
