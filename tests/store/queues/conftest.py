"""Stores with batch queues."""

from __future__ import annotations

import pytest

from tests.store.queues.batches import SMALL, TOPIC


@pytest.fixture
def batches(bench):
    """A bench whose stores know one such topic, with small files."""
    bench.small |= SMALL
    bench.batch_topics = frozenset([TOPIC])
    return bench
