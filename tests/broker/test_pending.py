"""What a store of another broker still has to do: counted, and a reason not to start."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import HandClock
from trimq.broker.pending.halves import HALVES
from trimq.broker.pending.kinds import MessagesPending, pending, refuse_pending
from trimq.broker.pending.pop_retries import POP_RETRIES
from trimq.broker.pending.pops import POPS
from trimq.broker.pending.taken_over import Found, TakenOver
from trimq.codec.entries.timer import MAGIC_DEFAULT
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.timer import TIMER_CHECKPOINT, TIMER_RECORD, TIMER_SLOT
from trimq.codec.names import (
    REVIVE_GROUP,
    ROCKSDB_TRANS_HALF_TOPIC,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    revive_topic,
)
from trimq.codec.records.properties import format_properties
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

REVIVE = revive_topic("c")
# When the wheel was read last, in milliseconds.
READ = 1_700_000_000_000
RECORD_SIZE = TIMER_RECORD.sizeof()


class Left:
    """A store as another broker may have left it."""

    def __init__(self, root: Path, clock: HandClock) -> None:
        self.root = root
        config = StoreConfig(root=root, mapped_file_size_commit_log=1 << 20)
        self.store = MessageStore(config, clock.millis)
        self.store.open()
        self.write("topics.json", topicConfigTable={REVIVE: {"topicName": REVIVE}})
        self._wheel: list[dict[str, int]] = []
        self._log = b""

    @property
    def taken(self) -> TakenOver:
        return TakenOver(self.store, self.root)

    def write(self, name: str, **values: Any) -> None:
        config = self.root / "config"
        config.mkdir(exist_ok=True)
        (config / name).write_text(json.dumps(values))

    def committed(self, **queues: int) -> None:
        """topic@group -> offset of queue 0."""
        table = {key: {"0": offset} for key, offset in queues.items()}
        self.write("consumerOffset.json", offsetTable=table)

    def put(self, topic: str, body: bytes = b"x", queue_id: int = 0, **properties: str) -> int:
        """Where the record lies."""
        block = format_properties(properties)
        return self.store.put(Message(topic, queue_id, body, block)).physical_offset

    def check(self, read_time: int, queue_offset: int) -> None:
        data = TIMER_CHECKPOINT.build(
            {
                "last_read_time": read_time,
                "last_timer_log_flush_position": 0,
                "last_timer_queue_offset": queue_offset,
                "master_timer_queue_offset": 0,
                "state_version": 0,
                "version_timestamp": 0,
                "version_counter": 0,
            }
        )
        (self.root / "config" / "timercheck").write_bytes(data.ljust(4096, b"\0"))

    def slot(self, time: int, *records: tuple[int, str, int], count: int | None = None) -> None:
        """One second of the wheel; records are (physical offset, topic, magic), oldest first."""
        before = -1
        first = len(self._log)
        for offset, topic, magic in records:
            position = len(self._log)
            self._log += TIMER_RECORD.build(
                {
                    "size": RECORD_SIZE,
                    "previous_position": before,
                    "magic": magic,
                    "write_time": time,
                    "delay": 0,
                    "physical_offset": offset,
                    "record_size": 100,
                    "topic_hash": string_hash(topic),
                    "reserved": 0,
                }
            )
            before = position
        (self.root / "timerlog").mkdir(exist_ok=True)
        (self.root / "timerlog" / f"{0:020d}").write_bytes(
            self._log.ljust(100 * RECORD_SIZE, b"\0")
        )
        data = TIMER_SLOT.build(
            {
                "time": time // 1000,
                "first_position": first,
                "last_position": before,
                "count": len(records) if count is None else count,
                "magic": 0,
            }
        )
        with (self.root / "timerwheel").open("ab") as wheel:
            # Slots lie far apart, with nothing in between.
            wheel.truncate(wheel.tell() + 3000 * TIMER_SLOT.sizeof())
            wheel.seek(0, 2)
            wheel.write(data)


@pytest.fixture
def left(tmp_path: Path, clock: HandClock) -> Iterator[Left]:
    left = Left(tmp_path / "store", clock)
    yield left
    left.store.abandon()


def ck(start: int, count: int, acknowledged: int = 0, distances: list[int] | None = None) -> bytes:
    more = {} if distances is None else {"d": distances}
    value = {"t": "T", "c": "G", "q": 1, "so": start, "pt": 7, "n": count, "bm": acknowledged}
    return json.dumps({**value, **more}).encode()


def ack(start: int, *offsets: int) -> bytes:
    one = {"ao": offsets[0]} if len(offsets) == 1 else {"ao": -1, "aol": list(offsets)}
    return json.dumps({"t": "T", "c": "G", "q": 1, "so": start, "pt": 7, **one}).encode()


def test_nothing_is_pending_in_a_store_of_our_own(left: Left) -> None:
    left.put("T")
    left.put("%RETRY%G")
    left.committed(**{"T@G": 0, "%RETRY%G@G": 0})
    assert pending(left.store, left.root) == []
    refuse_pending(left.store, left.root, leave=False)


# --- transactions


def test_halves_whose_state_is_in_a_rocksdb(left: Left) -> None:
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    assert str(HALVES.count(left.taken)) == "up to 1"


# --- POP


def test_a_checkpoint_in_the_revive_queue(left: Left) -> None:
    left.put(REVIVE, ck(10, 3), TAGS="ck")
    left.put(REVIVE, ck(20, 3, acknowledged=0b101), TAGS="ck")
    left.put(REVIVE, ck(30, 2, distances=[0, 5]), TAGS="ck")
    assert POPS.count(left.taken) == Found(3 + 1 + 2)
    left.put(REVIVE, ack(10, 11), TAGS="ack")
    left.put(REVIVE, ack(30, 30, 35), TAGS="bAck")
    assert POPS.count(left.taken) == Found(2 + 1)
    # The position is that of the last record that is settled.
    left.committed(**{f"{REVIVE}@{REVIVE_GROUP}": 1})
    assert POPS.count(left.taken) == Found(0)


def test_checkpoints_on_the_wheel_are_not_timer_messages(left: Left) -> None:
    point = left.put(TIMER_TOPIC, ck(10, 2), TAGS="ck", REAL_TOPIC=REVIVE)
    one = left.put(TIMER_TOPIC, ack(10, 10), TAGS="ack", REAL_TOPIC=REVIVE)
    left.check(READ, queue_offset=2)
    left.slot(READ + 59_000, (point, REVIVE, MAGIC_DEFAULT))
    assert POPS.count(left.taken) == Found(2)
    left.slot(READ + 60_000, (one, REVIVE, MAGIC_DEFAULT))
    assert POPS.count(left.taken) == Found(1)
    left.put(TIMER_TOPIC, ack(10, 11), TAGS="ack", REAL_TOPIC=REVIVE)
    assert POPS.count(left.taken) == Found(0)


def test_a_checkpoint_that_nobody_can_read_counts(left: Left) -> None:
    left.put(REVIVE, b"?", TAGS="ck")
    assert POPS.count(left.taken) == Found(1)


def test_retries_of_pop(left: Left) -> None:
    for topic in ("%RETRY%G_T", "%RETRY%G+T", "%RETRY%G", "%RETRY%G_T"):
        left.put(topic)
    left.committed(**{"%RETRY%G@G": 0, "%RETRY%G_T@G": 1, "%RETRY%G+T@G": 0, "%RETRY%G_T@G_T": 0})
    assert POP_RETRIES.count(left.taken) == Found(2)


# --- what is said


def test_the_start_is_refused_with_a_sentence(left: Left) -> None:
    left.put(TRANS_HALF_TOPIC)
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    left.put(REVIVE, ck(10, 2), TAGS="ck")
    # These are delivered.
    left.put(TIMER_TOPIC, REAL_TOPIC="T")
    with pytest.raises(MessagesPending) as refused:
        refuse_pending(left.store, left.root, leave=False)
    said = str(refused.value)
    assert "up to 1 half message whose" in said
    assert "2 messages that were handed out by POP" in said
    assert "timer" not in said
    assert "--set leavePendingMessages=true" in said


def test_left_messages_are_a_warning(left: Left, caplog: pytest.LogCaptureFixture) -> None:
    left.put(ROCKSDB_TRANS_HALF_TOPIC)
    with caplog.at_level(logging.WARNING):
        refuse_pending(left.store, left.root, leave=True)
    assert "1 half message whose transaction RocksDB" in caplog.text
