"""A process from which servers are forked, for tests that start many."""

from collections.abc import Iterator

import pytest

from tests.trimq.serving.forge import Forge, forging


@pytest.fixture(scope="session")
def forge() -> Iterator[Forge]:
    with forging() as one:
        yield one
