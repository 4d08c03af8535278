"""What a store of another broker still has to do and TriMQ cannot: counted, and a reason not to start."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import trimq
from tests.broker.conftest import HandClock
from trimq.broker.foreign_store.databases import DATABASES, Database, refuse_databases
from trimq.broker.foreign_store.half_messages import HALVES
from trimq.broker.foreign_store.pending_messages import pending, refuse_pending
from trimq.broker.foreign_store.report import MessagesPending
from trimq.codec.names import ROCKSDB_TRANS_HALF_TOPIC, TIMER_TOPIC, TRANS_HALF_TOPIC, revive_topic
from trimq.codec.records.properties import format_properties
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message


class Left:
    """A store as another broker may have left it."""

    def __init__(self, root: Path, clock: HandClock) -> None:
        self.root = root
        config = StoreConfig(root=root, mapped_file_size_commit_log=1 << 20)
        self.store = MessageStore(config, clock.millis)
        self.store.open()

    def put(self, topic: str, body: bytes = b"x", **properties: str) -> None:
        self.store.put(Message(topic, 0, body, format_properties(properties)))


@pytest.fixture
def left(tmp_path: Path, clock: HandClock) -> Iterator[Left]:
    left = Left(tmp_path / "store", clock)
    yield left
    left.store.abandon()


def test_nothing_is_pending_that_trimq_finishes_itself(left: Left) -> None:
    left.put("T")
    left.put("%RETRY%G")
    left.put("%RETRY%G_T")
    left.put(TRANS_HALF_TOPIC)
    left.put(TIMER_TOPIC, REAL_TOPIC="T")
    left.put(revive_topic("c"), b"{}", TAGS="ck")
    assert pending(left.store) == []
    refuse_pending(left.store, left.root, leave=False)


def test_halves_whose_state_is_in_a_rocksdb(left: Left) -> None:
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    assert str(HALVES.count(left.store)) == "up to 1"


def test_the_start_is_refused_with_a_sentence(left: Left) -> None:
    left.put(TRANS_HALF_TOPIC)
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    with pytest.raises(MessagesPending) as refused:
        refuse_pending(left.store, left.root, leave=False)
    said = str(refused.value)
    assert "up to 1 half message whose" in said
    assert "--set leavePendingMessages=true" in said


def test_left_messages_are_a_warning(left: Left, caplog: pytest.LogCaptureFixture) -> None:
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    with caplog.at_level(logging.WARNING):
        refuse_pending(left.store, left.root, leave=True)
    assert "1 half message whose transaction RocksDB" in caplog.text


def database(root: Path, folder: str, *files: str) -> Path:
    """As RocksDB 8 leaves one; `files` have a byte."""
    made = root / folder
    made.mkdir(parents=True)
    for name in ("CURRENT", "IDENTITY", "MANIFEST-000005", "OPTIONS-000007", "LOG.old.1", *files):
        (made / name).write_bytes(b"x")
    for name in ("000004.log", "LOCK"):
        (made / name).touch()
    return made


@pytest.mark.parametrize("file", ["000009.sst", "000010.blob", "000008.log"])
@pytest.mark.parametrize("one", DATABASES, ids=lambda one: one.folder)
def test_a_database_with_something_in_it_is_refused(
    tmp_path: Path, one: Database, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = database(tmp_path, one.folder, file)
    with pytest.raises(MessagesPending) as refused:
        refuse_databases(tmp_path, leave=False)
    for said in (str(made), one.holds, one.advice, "--set leavePendingMessages=true"):
        assert said in str(refused.value)
    refuse_databases(tmp_path, leave=True)
    assert f"path={made}" in caplog.text
    assert sorted(path.name for path in made.iterdir()).count(file) == 1


@pytest.mark.parametrize("one", DATABASES, ids=lambda one: one.folder)
def test_a_database_without_anything_is_passed_over(tmp_path: Path, one: Database) -> None:
    """As `rocksdbstore` on every broker with the defaults."""
    database(tmp_path, one.folder)
    refuse_databases(tmp_path, leave=False)


@pytest.mark.parametrize("one", DATABASES, ids=lambda one: one.folder)
def test_a_folder_that_is_no_database_is_passed_over(tmp_path: Path, one: Database) -> None:
    (tmp_path / one.folder).mkdir(parents=True)
    (tmp_path / one.folder / "000009.sst").write_bytes(b"x")
    refuse_databases(tmp_path, leave=False)
    refuse_databases(tmp_path / "missing", leave=False)


async def test_a_server_says_it_before_it_touches_the_store(tmp_path: Path) -> None:
    database(tmp_path / "store", "kvStore", "000008.log")
    with pytest.raises(MessagesPending, match="exportPopRecord"):
        async with trimq.serve(store=tmp_path / "store"):
            pass
    assert not (tmp_path / "store" / "commitlog").exists()
    assert not (tmp_path / "store" / "abort").exists()
