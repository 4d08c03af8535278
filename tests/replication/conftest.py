"""Stores of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.conftest import Bench


@pytest.fixture
def benches(tmp_path: Path) -> Iterator[tuple[Bench, Bench]]:
    both = Bench(tmp_path / "master"), Bench(tmp_path / "slave")
    yield both
    for bench in both:
        bench.end()
