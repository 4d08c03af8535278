"""A store in a temporary folder, with small files and a clock that ticks once per look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trimq.codec.records.record import Record, parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.native import writes
from trimq.store.opening.report import RecoveryReport
from trimq.store.queues.files import removal, writing


class Clock:
    def __init__(self) -> None:
        self.millis = 1_000_000

    def __call__(self) -> int:
        self.millis += 1
        return self.millis


class Bench:
    """Opens, kills and looks into one store directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.report = RecoveryReport(clean=True)
        self.small: dict[str, Any] = {
            "mapped_file_size_commit_log": 1024,
            "mapped_file_size_consume_queue": 20 * 5,
            "max_hash_slot_num": 7,
            "max_index_num": 12,
        }
        self.batch_topics: frozenset[str] = frozenset()
        self.disk_use = 0.1
        self.disk_uses: dict[str, float] = {}
        self._open: list[MessageStore] = []

    def open(self, **settings: Any) -> MessageStore:
        config = StoreConfig(root=self.root, **(self.small | settings))
        store = MessageStore(config, self.clock, self._use_of)
        self.report = store.open(dict.fromkeys(self.batch_topics, "BatchCQ"))
        self._open.append(store)
        return store

    def _use_of(self, path: Path) -> float:
        return self.disk_uses.get(path.name, self.disk_use)

    def kill(self, store: MessageStore) -> None:
        """What is left of the process is what it had handed to the kernel."""
        store.abandon()
        self._open.remove(store)

    def close(self, store: MessageStore) -> None:
        store.close()
        self._open.remove(store)

    def end(self) -> None:
        for store in list(self._open):
            self.kill(store)

    def commit_log_files(self) -> list[Path]:
        return sorted((self.root / "commitlog").iterdir())

    def queue_files(self, topic: str, queue_id: int) -> list[Path]:
        return sorted((self.root / "consumequeue" / topic / str(queue_id)).iterdir())

    @staticmethod
    def message(
        body: bytes, topic: str = "T", queue_id: int = 0, tag: str = "", **more: Any
    ) -> Message:
        properties = f"TAGS\x01{tag}\x02".encode() if tag else b""
        return Message(topic, queue_id, body, more.pop("properties", properties), **more)

    @staticmethod
    def records(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[Record]:
        """Every message of the queue, in order."""
        found: list[Record] = []
        offset = store.min_offset(topic, queue_id)
        while offset < store.max_offset(topic, queue_id):
            entry = store.queue_entry(topic, queue_id, offset)
            assert entry is not None
            data = store.record_at(entry.physical_offset)
            assert data is not None
            assert len(data) == entry.size
            record = parse_record(data)
            assert record.queue_offset == offset
            found.append(record)
            offset += 1
        return found

    @classmethod
    def bodies(cls, store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[bytes]:
        return [record.body for record in cls.records(store, topic, queue_id)]


@pytest.fixture(autouse=True, scope="module")
def _seen_calls() -> Iterator[None]:
    """Queues' files are written and removed by Python: tests replace its calls, and C makes its own. That both do the
    same is shown in tests/store/native.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "write_pieces", writes.write_pieces)
        patch.setattr(removal, "remove_folders", writes.remove_folders)
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store")
    yield made
    made.end()


@pytest.fixture
def make_bench() -> Iterator[Callable[[Path], Bench]]:
    """For tests that need many directories one after the other."""
    made: list[Bench] = []

    def make(root: Path) -> Bench:
        for bench in made:
            bench.end()
        made[:] = [Bench(root)]
        return made[0]

    yield make
    for bench in made:
        bench.end()
