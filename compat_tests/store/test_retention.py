"""Old files, a full disk and deletion on request: TriMQ beside the real broker, then exchanged.

One pair of brokers lives through all of it, in the order of the tests: either kind looks at its
files for the first time a minute after its start. Their stores lie on small file systems of their
own where this machine allows to mount them; otherwise the tests of a full disk are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.store.retention_sides import (
    BATCH,
    BATCH_FILE,
    BATCH_TOPICS,
    CLEAN_QUEUES,
    CLEAN_TOPICS,
    DELETE_OLD,
    LOG_FILE,
    MAX,
    MIN,
    QUEUE_FILE,
    VIEW,
    Disk,
    Side,
    fill_disk,
)
from compat_tests.wire import asks, records
from tests.patience import until
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

QUEUES = 2
# No queue may end where its file does: CLEAN_EXPIRED_CONSUMEQUEUE fails on such a one in RocketMQ.
MESSAGES = 4230
BODY = 1000
# A batch comes after every so many messages.
EVERY = 50
BATCHES = len(range(0, MESSAGES, EVERY))
ALL_QUEUES = (("T", 0), ("T", 1), ("Early", 0), ("Batches", 0), ("EarlyBatches", 0))
REFUSED = 14
# Seconds without a change in the queues' files: both look every half second.
AT_REST = 3


class Pair:
    """Both brokers, asked the same at the same time."""

    def __init__(self, real: Side, ours: Side, why_not: str) -> None:
        self.real = real
        self.ours = ours
        self.why_not = why_not
        self._pool = ThreadPoolExecutor(2)

    def both(self, act: Callable[[Side], Any]) -> tuple[Any, Any]:
        ours, real = self._pool.map(act, (self.ours, self.real))
        return ours, real

    def fill(self, percent: float) -> None:
        """Make both disks so full."""
        for side in (self.real, self.ours):
            fill_disk(side.store, percent)

    def same(self, act: Callable[[Side], Any]) -> Any:
        """What both gave, if it is the same."""
        ours, real = self.both(act)
        assert ours == real
        return ours

    def same_at_rest(self, look: Callable[[Side], Any]) -> Any:
        """What both show once nothing is under way: threads of the real broker build queues and files."""
        seen: list[Any] = []

        def is_same() -> bool:
            ours, real = self.both(look)
            seen.append(ours)
            return bool(ours == real)

        until(is_same, "both show the same", pause=0.5)
        return seen[-1]


@pytest.fixture(scope="module")
def pair(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("retention")
    with ExitStack() as stack:
        disks = [Disk(home / kind / "store") for kind in ("real", "ours")]
        for disk in disks:
            stack.callback(disk.close)
        why_not = disks[0].why_not or disks[1].why_not
        pair = Pair(Side(home / "real", launch), Side(home / "ours", None), why_not)
        for side in (pair.real, pair.ours):
            stack.callback(side.kill)
        pair.both(Side.start)
        pair.both(fill)
        yield pair


def fill(side: Side) -> None:
    """More than four files of messages; `Early` and `EarlyBatches` have only the first of them."""
    for topic, queues in (("T", QUEUES), ("Early", 1), ("End", 1)):
        side.create(topic, queues)
    for topic in BATCH_TOPICS:
        side.create(topic, 1, attributes="+queue.type=BatchCQ")
    # The real broker answers offset 0 with the first bytes of the first file that is left, even in
    # a pull. Nobody asks for this one.
    side.send("End", 0, b"first of all")
    for number in range(30):
        side.send("Early", 0, b"early %d" % number)
        if number < 10:
            side.send_batch("EarlyBatches", 0, b"early %d" % number)
        if number == 1:
            side.early = side.end
    for number in range(MESSAGES):
        side.send("T", number % QUEUES, (b"%d " % number).ljust(BODY, b"."))
        if number % EVERY == 0:
            side.send_batch("Batches", 0, b"%d " % number)
    until(
        lambda: (
            sum(side.offset(MAX, "T", queue_id) for queue_id in range(QUEUES)) == MESSAGES
            and side.offset(MAX, "Batches", 0) == BATCHES * BATCH
        ),
        "all messages are in their queues",
    )


def until_files_left(side: Side, count: int) -> None:
    """Wait until so many files are left of the log, and each queue begins with what is there.

    Nothing is pulled before the files come to rest: a queue's file that somebody reads at the
    moment the real broker deletes it stays unreadable until another file of the log goes.
    """
    until(lambda: len(side.log_files()) == count, f"{count} files of the log are left")
    files, since = all_queue_files(side), time.monotonic()
    while time.monotonic() < since + AT_REST:
        time.sleep(0.2)
        if (now := all_queue_files(side)) != files:
            files, since = now, time.monotonic()
    until(lambda: begins_with_what_is_there(side), "queues begin with what is there")


def all_queue_files(side: Side) -> list[list[str]]:
    return [side.queue_files(*queue) for queue in ALL_QUEUES]


def begins_with_what_is_there(side: Side) -> bool:
    for topic, queue_id in ALL_QUEUES:
        lowest, highest = (side.offset(code, topic, queue_id) for code in (MIN, MAX))
        first = side.pull(topic, queue_id, max(lowest, 0)).get("bodies")
        if first is None and max(lowest, 0) != highest:
            return False
        files = side.queue_files(topic, queue_id)
        if len(files) > 1 and offset_at(topic, int(files[1])) <= lowest:
            return False
        if topic == "T" and (not first or int(first[0].split()[0]) != lowest * QUEUES + queue_id):
            return False
    return True


def offset_at(topic: str, position: int) -> int:
    """The queue offset of the entry at that position of the queue's files."""
    return position // 46 * BATCH if topic in BATCH_TOPICS else position // 20


def what_is_left(side: Side) -> dict[str, Any]:
    """Everything a client or a look into the directory can see of the topics."""
    seen: dict[str, Any] = {"log": side.log_files()}
    for topic, queue_id in ALL_QUEUES:
        lowest = side.offset(MIN, topic, queue_id)
        of_queue = seen[f"{topic} {queue_id}"] = {
            "min": lowest,
            "max": side.offset(MAX, topic, queue_id),
            "files": side.queue_files(topic, queue_id),
            "at 0": side.pull(topic, queue_id, 0),
            "before": side.pull(topic, queue_id, max(lowest - 1, 0)),
            "first": side.pull(topic, queue_id, lowest),
        }
        # In an empty batch queue the real broker's search fails with a NullPointerException.
        if lowest >= 0:
            question = asks.search_offset(0, topic=topic, queueId=queue_id)
            of_queue["searched"] = side.ask(question)
    seen["view"] = side.ask(asks.ask(VIEW, {"offset": side.early}))
    return seen


def test_before_all_is_there(pair: Pair) -> None:
    seen = pair.same_at_rest(what_is_left)
    assert [int(name) for name in seen["log"]][:4] == [n * LOG_FILE for n in range(4)]
    assert (seen["T 0"]["min"], seen["T 0"]["max"]) == (0, MESSAGES // QUEUES)


def test_old_files_go_on_request(pair: Pair) -> None:
    """DELETE_EXPIRED_COMMITLOG: the two that are old enough, then the queues' files and minima."""
    pair.both(lambda side: side.age(side.log_files()[:2]))
    assert pair.same(lambda side: side.ask(asks.ask(DELETE_OLD)))["code"] == 0
    pair.both(lambda side: until_files_left(side, 3))
    seen = pair.same_at_rest(what_is_left)
    assert int(seen["log"][0]) == 2 * LOG_FILE
    assert seen["T 0"]["at 0"]["remark"] == "OFFSET_TOO_SMALL"
    assert seen["T 0"]["first"]["remark"] == "FOUND"
    assert int(seen["T 0"]["files"][0]) > 0
    assert (seen["Early 0"]["min"], seen["Early 0"]["max"]) == (30, 30)
    assert seen["Batches 0"]["first"]["remark"] == "FOUND"
    assert int(seen["Batches 0"]["files"][0]) > 0
    assert (seen["EarlyBatches 0"]["min"], seen["EarlyBatches 0"]["max"]) == (30, 30)


def test_queues_without_messages_begin_anew(pair: Pair) -> None:
    """CLEAN_EXPIRED_CONSUMEQUEUE"""
    assert pair.same(lambda side: side.ask(asks.ask(CLEAN_QUEUES)))["code"] == 0
    seen = pair.same_at_rest(what_is_left)
    assert (seen["Early 0"]["min"], seen["Early 0"]["max"]) == (0, 0)
    assert (seen["EarlyBatches 0"]["min"], seen["EarlyBatches 0"]["max"]) == (-1, 0)
    assert seen["Early 0"]["files"] == seen["EarlyBatches 0"]["files"] == []
    assert seen["T 0"]["max"] == MESSAGES // QUEUES
    assert seen["Batches 0"]["max"] == BATCHES * BATCH
    assert pair.same(lambda side: side.send("Early", 0, b"again")) == 0
    assert pair.same(lambda side: side.send_batch("EarlyBatches", 0, b"again")) == 0
    for topic in ("Early", "EarlyBatches"):
        pair.both(lambda side, of=topic: until(lambda: side.queue_files(of, 0), "its file"))


def test_topics_that_are_known_stay(pair: Pair) -> None:
    """CLEAN_UNUSED_TOPIC"""
    before = pair.same_at_rest(what_is_left)
    assert pair.same(lambda side: side.ask(asks.ask(CLEAN_TOPICS)))["code"] == 0
    assert pair.same_at_rest(what_is_left)["T 0"] == before["T 0"]


# --- a full disk


@pytest.fixture
def disks(pair: Pair) -> Pair:
    if pair.why_not:
        pytest.skip(f"no file system can be mounted here: {pair.why_not}")
    return pair


def sends(side: Side) -> dict[str, Any]:
    """Every kind of message that a client can bring."""
    names = {"topic": "T", "producerGroup": "P"}
    batch = records.batch_body([(b"one", {}), (b"two", {})])
    return {
        "send": side.ask(asks.send(**names)),
        "v2": side.ask(asks.send_v2(**names)),
        "delayed": side.ask(asks.send(properties=asks.properties(DELAY="2"), **names)),
        "batch": side.ask(asks.send_batch(batch, **names)),
        "back": side.ask(
            asks.send_back(int(side.log_files()[0]), group="C", originTopic="T", originMsgId="x")
        ),
    }


def test_above_85_percent_young_files_go(disks: Pair) -> None:
    disks.both(lambda side: side.ask(asks.create_group("C")))
    disks.fill(88)
    disks.both(lambda side: until_files_left(side, 1))
    seen = disks.same_at_rest(what_is_left)
    assert len(seen["log"]) == 1
    assert seen["T 0"]["first"]["remark"] == "FOUND"
    assert (seen["Early 0"]["max"], seen["EarlyBatches 0"]["max"]) == (1, BATCH)


def test_above_90_percent_messages_are_refused(disks: Pair) -> None:
    disks.fill(93.5)
    disks.both(
        lambda side: until(
            lambda: side.ask(asks.send(topic="End", producerGroup="P"))["code"] == REFUSED,
            "messages are refused",
        )
    )
    seen = disks.same(sends)
    assert {seen[kind]["code"] for kind in ("send", "v2", "delayed", "batch")} == {REFUSED}
    assert "broker's disk is full [CL:  0.94 CQ:  0.94 INDEX:  0.94]" in seen["send"]["remark"]
    assert (seen["back"]["code"], seen["back"]["remark"]) == (1, "SERVICE_NOT_AVAILABLE")
    # Reading goes on, and so do offsets.
    assert disks.same(lambda side: side.pull("T", 0, side.offset(MIN, "T", 0)))["bodies"]
    committed = {"consumerGroup": "C", "topic": "T", "queueId": 0}
    disks.same(lambda side: side.ask(asks.commit_offset(7, **committed)))
    assert disks.same(lambda side: side.ask(asks.query_offset(**committed)))["offset"] == "7"


def test_below_the_mark_they_are_taken_again(disks: Pair) -> None:
    # Both count in whole percent, rounded up: at 87.0 a page more would make a difference.
    disks.fill(86.5)
    time.sleep(3)
    assert disks.same(sends)["send"]["code"] == REFUSED
    disks.fill(80)
    disks.both(
        lambda side: until(
            lambda: side.ask(asks.send(topic="End", producerGroup="P"))["code"] == 0,
            "messages are accepted again",
        )
    )


# --- the other one's directory


def test_they_go_on_with_each_others_directories(pair: Pair, launch: Launcher) -> None:
    messages = pair.both(bodies_left)
    minima = pair.both(lambda side: [side.offset(MIN, *queue) for queue in ALL_QUEUES])
    pair.both(Side.stop)
    # The real broker's directory in TriMQ's store.
    store = MessageStore(
        StoreConfig(
            root=pair.real.store,
            mapped_file_size_commit_log=LOG_FILE,
            mapped_file_size_consume_queue=QUEUE_FILE,
            mapper_file_size_batch_consume_queue=BATCH_FILE,
            delay_levels=(3_600_000, 7_200_000, 10_800_000),
        ),
        lambda: int(time.time() * 1000),
    )
    store.open()
    try:
        assert [store.min_offset(*queue) for queue in ALL_QUEUES] == minima[1]
        for queue_id in range(QUEUES):
            lowest, highest = store.min_offset("T", queue_id), store.max_offset("T", queue_id)
            assert highest - lowest == len(messages[1][queue_id])
            appended = store.put(Message("T", queue_id, b"goes on"))
            assert appended.queue_offset == highest
    finally:
        store.close()
    # TriMQ's directory in a real broker.
    other = Side(pair.ours.home, launch)
    other.start()
    try:
        assert [other.offset(MIN, *queue) for queue in ALL_QUEUES] == minima[0]
        assert bodies_left(other) == messages[0]
        for queue_id in range(QUEUES):
            assert other.send("T", queue_id, b"goes on") == minima[0][queue_id] + len(
                messages[0][queue_id]
            )
        other.stop()
    finally:
        other.kill()


def bodies_left(side: Side) -> list[list[bytes]]:
    """Every message of topic T, by queue."""
    found: list[list[bytes]] = []
    for queue_id in range(QUEUES):
        bodies: list[bytes] = []
        offset, end = side.offset(MIN, "T", queue_id), side.offset(MAX, "T", queue_id)
        while offset < end:
            answer = side.pull("T", queue_id, offset, 32)
            assert answer["remark"] == "FOUND"
            bodies += answer["bodies"]
            offset = int(answer["nextBeginOffset"])
        found.append(bodies)
    return found
