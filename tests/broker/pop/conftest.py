"""A store in a temporary folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[Callable[[], MessageStore]]:
    made: list[MessageStore] = []

    def make() -> MessageStore:
        store = MessageStore(
            StoreConfig(root=tmp_path / "store", mapped_file_size_commit_log=1 << 24),
            lambda: 1_700_000_000_000,
        )
        store.open()
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()
