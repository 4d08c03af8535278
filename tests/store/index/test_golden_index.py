"""The index made from the real broker's commit log has the real broker's bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.codec.entries.index import ENTRY_SIZE, parse_entry, parse_header
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

GOLDEN = Path(__file__).parents[1].parent / "vectors" / "index"
LOG_FILE = 65536
SLOTS, ENTRIES = 11, 16


def opened(root: Path) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=LOG_FILE,
        max_hash_slot_num=SLOTS,
        max_index_num=ENTRIES,
    )
    times = iter(range(1_700_000_000_000, 1_800_000_000_000))
    store = MessageStore(config, lambda: next(times))
    store.open()
    return store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    log = (GOLDEN / "commitlog.bin").read_bytes().ljust(LOG_FILE, b"\0")
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020d}").write_bytes(log)
    return tmp_path


def golden() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob("index-*.bin"))]


def test_made_from_the_log_it_is_the_real_brokers(root: Path) -> None:
    opened(root).close()
    assert [path.read_bytes() for path in sorted((root / "index").iterdir())] == golden()


def test_the_files_show_what_matters() -> None:
    """Several files, seconds after their beginning, and chains."""
    files = golden()
    assert len(files) > 2
    entries = [
        parse_entry(data, 40 + 4 * SLOTS + number * ENTRY_SIZE)
        for data in files
        for number in range(1, parse_header(data).count)
    ]
    assert any(entry.seconds for entry in entries)
    assert any(entry.previous for entry in entries)


def test_the_real_brokers_files_answer(root: Path) -> None:
    (root / "index").mkdir()
    for number, data in enumerate(golden()):
        (root / "index" / f"2025010100000000{number}").write_bytes(data)
    store = opened(root)
    for key, kind, count in (("one", "", 2), ("U1", "U", 1), ("items", "K", 3), ("TagA", "T", 1)):
        search = store.plan_query("GoldenTopic", key, 64, 0, 1 << 62, kind)
        search.run()
        assert len(search.offsets) == count, key
    store.close()
    assert [path.read_bytes() for path in sorted((root / "index").iterdir())] == golden()
