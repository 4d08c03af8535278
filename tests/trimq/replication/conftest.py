"""The pair of most tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trimq.replication.pair import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Whose master waits for nobody."""
    made = Pair(tmp_path / "pair")
    made.master.settings |= {"brokerRole": "ASYNC_MASTER", "inSyncReplicas": 1}
    yield made
    made.end()
