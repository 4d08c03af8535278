"""Batch queues and extensions of consume queues, opened in turn by TriMQ's store and the real broker.

As test_interop, for what few stores have: topics with queue.type=BatchCQ, and consume queues
with enableConsumeQueueExt.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.store.shared_directory import (
    MAX,
    MIN,
    QUEUES,
    SEARCH,
    SETTINGS,
    SUCCESS,
    TOPIC,
    Key,
    Real,
    batch_fields,
    keys,
    kill_ours,
    read_ours,
    write_ours,
)
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

BATCHES = "Batches"
BATCH_FILE = 46 * 20
EXTENSION_FILE = 1000
SEND_BATCH = 320
TAG_CODES = frozenset([string_hash("Tag1")])
ENTRY = struct.Struct(">qiq")

KINDS = {
    **SETTINGS,
    "mapperFileSizeBatchConsumeQueue": str(BATCH_FILE),
    "enableConsumeQueueExt": "true",
    "mappedFileSizeConsumeQueueExt": str(EXTENSION_FILE),
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    broker = Real(tmp_path / "broker", KINDS)
    yield broker
    broker.stop(kill=True)


def start(broker: Real) -> None:
    broker.start()
    broker.create(BATCHES, attributes="+queue.type=BatchCQ")


def open_ours(root: Path, declared: bool = True) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=int(SETTINGS["mappedFileSizeCommitLog"]),
        mapped_file_size_consume_queue=int(SETTINGS["mappedFileSizeConsumeQueue"]),
        mapper_file_size_batch_consume_queue=BATCH_FILE,
        enable_consume_queue_ext=True,
        mapped_file_size_consume_queue_ext=EXTENSION_FILE,
    )
    store = MessageStore(config, lambda: int(time.time() * 1000))
    store.open({BATCHES: "BatchCQ"} if declared else {})
    return store


def batch(number: int, count: int) -> tuple[bytes, dict[str, str]]:
    """Body and outer properties; the tags are the record's as a whole."""
    items = [
        BatchItem(0, b"%d of %d" % (at, number), b"UNIQ_KEY\x01U%d-%d\x02" % (number, at))
        for at in range(count)
    ]
    return join_batch(items), {"UNIQ_KEY": f"B{number}", "TAGS": f"Tag{number % 3}"}


def write_batches(store: MessageStore, count: int, seed: int) -> None:
    source = random.Random(seed)
    for number in range(count):
        messages = source.randrange(1, 9)
        body, outer = batch(number, messages)
        text = "".join(f"{key}\x01{value}\x02" for key, value in outer.items())
        message = Message(BATCHES, number % QUEUES, body, text.encode(), born_timestamp=number)
        if number % 5:
            message.properties += b"INNER_NUM\x01%d\x02" % messages
            message.sys_flag = SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH
        store.put(message)


def send_batches(broker: Real, count: int, seed: int) -> None:
    source = random.Random(seed)
    for number in range(count):
        body, outer = batch(number, source.randrange(1, 9))
        if number % 5 == 0:
            del outer["UNIQ_KEY"]
        answer = broker.ask(
            SEND_BATCH,
            batch_fields(
                BATCHES, number, "".join(f"{key}\x01{value}\x02" for key, value in outer.items())
            ),
            body,
        )
        assert answer.code == SUCCESS, answer.remark
        broker.remember(BATCHES, answer)
        # So that the searches by time have something to tell apart.
        time.sleep(0.001)
    broker.settle()


def searches(broker: Real, moments: list[int]) -> list[int]:
    return [
        broker.offset(SEARCH, queue_id, topic=BATCHES, timestamp=moment, boundaryType=boundary)
        for queue_id in range(QUEUES)
        for moment in moments
        for boundary in ("LOWER", "UPPER")
    ]


def our_searches(store: MessageStore, moments: list[int]) -> list[int]:
    return [
        store.offset_by_time(BATCHES, queue_id, moment, upper)
        for queue_id in range(QUEUES)
        for moment in moments
        for upper in (False, True)
    ]


def pulled(broker: Real, topic: str, tags: str = "*") -> list[list[Key]]:
    return [keys(broker.pull(queue_id, tags, topic)) for queue_id in range(QUEUES)]


def read(
    store: MessageStore, topic: str, tag_codes: frozenset[int] | None = None
) -> list[list[Key]]:
    return [read_ours(store, queue_id, topic, tag_codes) for queue_id in range(QUEUES)]


def ends(broker: Real) -> list[int]:
    return [
        broker.offset(code, queue_id, topic=BATCHES)
        for code in (MIN, MAX)
        for queue_id in range(QUEUES)
    ]


def our_ends(store: MessageStore) -> list[int]:
    return [
        offset(BATCHES, queue_id)
        for offset in (store.min_offset, store.max_offset)
        for queue_id in range(QUEUES)
    ]


def tags_codes(root: Path) -> list[int]:
    """What TOPIC's entries have for a tags code."""
    folder = root / "consumequeue" / TOPIC
    data = b"".join(path.read_bytes() for path in folder.rglob("0*") if path.is_file())
    return [tags_code for _, size, tags_code in ENTRY.iter_unpack(data) if size]


@pytest.mark.parametrize("kill", [False, True])
def test_ours_opens_the_real_brokers(broker: Real, kill: bool) -> None:
    start(broker)
    for number in range(400):
        broker.send(number % QUEUES, b"%d" % number, f"Tag{number % 3}")
    send_batches(broker, 300, seed=1)
    written = {topic: pulled(broker, topic) for topic in (TOPIC, BATCHES)}
    tagged = {topic: pulled(broker, topic, "Tag1") for topic in (TOPIC, BATCHES)}
    times = sorted(record.store_timestamp for record in broker.pull(0, topic=BATCHES))
    moments = [0, 1 << 42, *times[::7], *(moment + 1 for moment in times[::5])]
    found, bounds = searches(broker, moments), ends(broker)
    broker.stop(kill)
    assert all(code < -(1 << 31) for code in tags_codes(broker.store))
    store = open_ours(broker.store, declared=not kill)
    for topic in (TOPIC, BATCHES):
        assert read(store, topic) == written[topic]
        assert read(store, topic, TAG_CODES) == tagged[topic]
    assert our_searches(store, moments) == found
    assert our_ends(store) == bounds
    write_batches(store, 40, seed=2)
    assert [len(queue) for queue in read(store, BATCHES)] == [
        len(queue) + 10 for queue in written[BATCHES]
    ]
    store.close()


@pytest.mark.parametrize("end", ["close", "kill"])
def test_the_real_broker_opens_ours(broker: Real, end: str) -> None:
    # The real one has to know the topic's type before it looks at its queues.
    start(broker)
    broker.stop()
    store = open_ours(broker.store)
    written = write_ours(store, 400, seed=4)
    write_batches(store, 300, seed=5)
    batches, bounds = read(store, BATCHES), our_ends(store)
    tagged = {topic: read(store, topic, TAG_CODES) for topic in (TOPIC, BATCHES)}
    times = [store.store_time(BATCHES, 0, offset) for offset in range(0, bounds[QUEUES], 9)]
    moments = [0, 1 << 42, *times]
    found = our_searches(store, moments)
    if end == "close":
        store.close()
    else:
        kill_ours(store)
    broker.start()
    assert pulled(broker, TOPIC) == written
    assert pulled(broker, BATCHES) == batches
    for topic in (TOPIC, BATCHES):
        assert pulled(broker, topic, "Tag1") == tagged[topic]
    assert ends(broker) == bounds
    assert searches(broker, moments) == found
    send_batches(broker, 8, seed=6)
    for number in range(8):
        broker.send(number % QUEUES, b"goes on", "Tag1")
    broker.settle()
    both = {topic: pulled(broker, topic, "Tag1") for topic in (TOPIC, BATCHES)}
    assert all(len(now) > len(then) for now, then in zip(both[TOPIC], tagged[TOPIC], strict=True))
    broker.stop(kill=True)
    store = open_ours(broker.store)
    for topic in (TOPIC, BATCHES):
        assert read(store, topic, TAG_CODES) == both[topic]
    store.close()


def test_it_goes_from_hand_to_hand(broker: Real) -> None:
    """real (killed) -> ours (killed) -> real (killed) -> ours (closed) -> real."""
    start(broker)
    send_batches(broker, 100, seed=7)
    for number in range(100):
        broker.send(number % QUEUES, b"real %d" % number, "Tag1")
    broker.stop(kill=True)
    store = open_ours(broker.store)
    write_batches(store, 100, seed=8)
    write_ours(store, 100, seed=9)
    kill_ours(store)
    broker.start()
    send_batches(broker, 100, seed=10)
    broker.stop(kill=True)
    store = open_ours(broker.store)
    write_batches(store, 100, seed=11)
    expected = {topic: read(store, topic) for topic in (TOPIC, BATCHES)}
    tagged = {topic: read(store, topic, TAG_CODES) for topic in (TOPIC, BATCHES)}
    bounds = our_ends(store)
    store.close()
    broker.start()
    for topic in (TOPIC, BATCHES):
        assert pulled(broker, topic) == expected[topic]
        assert pulled(broker, topic, "Tag1") == tagged[topic]
    assert ends(broker) == bounds
