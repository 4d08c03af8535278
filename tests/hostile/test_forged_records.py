"""Heads of records inside of bodies, and keys that share a hash."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimq.broker.records import NoRecord, check_sound, record_in_memory, sound_record
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

# A record of IPv4 hosts up to its body.
FIXED_HEAD = 88
SECRET = b"the secret of another topic"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MessageStore]:
    config = StoreConfig(root=tmp_path, mapped_file_size_commit_log=64 * 1024 * 1024)
    made = MessageStore(config, lambda: 1_700_000_000_000)
    made.open()
    yield made
    made.close()


def forge(store: MessageStore, size: int, body_length: int, rest: bytes = b"") -> int:
    """A message whose body is the head of a record that claims `size` bytes; where that lies."""
    probe = store.put(Message("T", 0, b"x" * 200))
    head = bytearray(store.record_at(probe.physical_offset) or b"")
    head = head[: head.index(b"x" * 200)]
    # The message's own head is as long as this one.
    offset = store.max_physical_offset + len(head)
    head[0:4] = (size or len(head) + len(rest)).to_bytes(4, "big")
    head[28:36] = offset.to_bytes(8, "big")
    head[-4:] = body_length.to_bytes(4, "big")
    store.put(Message("T", 0, bytes(head) + rest))
    return offset


def fill(store: MessageStore) -> None:
    for _ in range(200):
        store.put(Message("Secret", 0, SECRET * 400))


def test_a_forged_record_shows_nobody_else_s_messages(store: MessageStore) -> None:
    offset = forge(store, 1_000_000, 999_000)
    fill(store)
    found = store.record_at(offset)
    assert found is not None
    assert SECRET in found
    assert sound_record(found) is None


def test_nor_by_its_properties(store: MessageStore) -> None:
    """Without a body there is no CRC."""
    properties = 30_000
    rest = b"\x01T" + properties.to_bytes(2, "big")
    offset = forge(store, FIXED_HEAD + len(rest) + properties, 0, rest)
    fill(store)
    found = store.record_at(offset)
    assert found is not None
    assert SECRET in parse_record(found).properties
    assert sound_record(found) is None


def test_a_forged_size_reads_no_gigabyte(
    store: MessageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset = forge(store, 60 * 1024 * 1024, 59 * 1024 * 1024)
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or pread(fd, size, at))
    assert store.record_at(offset) is None
    assert max(read) < 1000


def test_the_offset_of_such_a_record_is_not_sent_back(store: MessageStore) -> None:
    offset = forge(store, 1_000_000, 999_000)
    fill(store)
    with pytest.raises(NoRecord):
        check_sound(record_in_memory(store, offset))


def test_true_records_are_found(store: MessageStore) -> None:
    for body in (b"", b"body", SECRET):
        at = store.put(Message("T", 0, body, "KEYS\x01ä\x02".encode())).physical_offset
        found = sound_record(store.record_at(at) or b"")
        assert found is not None
        assert found.body == body


def test_keys_with_one_hash_are_not_searched_for_ever(tmp_path: Path) -> None:
    config = StoreConfig(root=tmp_path, max_index_steps=50)
    store = MessageStore(config, lambda: 1_700_000_000_000)
    store.open()
    for _ in range(200):
        store.put(Message("T", 0, b"x", b"KEYS\x01Aa\x02"))
    near = store.plan_query("T", "Aa", 10, 0, 1 << 60)
    near.run()
    assert len(near.offsets) == 10
    assert not near.cut_short
    # Another key with the same slot has to be distinguished entry by entry.
    far = store.plan_query("T", "Aa", 64, 0, 1 << 60)
    far.run()
    assert far.cut_short
    assert len(far.offsets) == 50
    store.close()
