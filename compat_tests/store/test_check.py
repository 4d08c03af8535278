"""`trimq check` and `trimq inspect` on directories that the real broker wrote, and while it writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.store.shared_directory import (
    MAX,
    QUEUES,
    SETTINGS,
    SUCCESS,
    TOPIC,
    Real,
    batch_fields,
    send_fields,
)
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

BATCHES = "Batches"
SEND, UPDATE_OFFSET, SEND_BACK, END_TRANSACTION, SEND_BATCH = 10, 15, 36, 37, 320
COMMIT, ROLLBACK = 8, 12
CHECKED = {
    **SETTINGS,
    "mapperFileSizeBatchConsumeQueue": str(46 * 20),
    "messageDelayLevel": "1s 2h 1s",
    "maxHashSlotNum": "500",
    "maxIndexNum": "2000",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    broker = Real(tmp_path / "broker", CHECKED)
    yield broker
    broker.stop(kill=True)


def send(
    broker: Real, number: int, sys_flag: int = 0, topic: str = TOPIC, **properties: str
) -> dict[str, str]:
    texts = {"UNIQ_KEY": f"U{number}", "KEYS": f"k{number} all", "TAGS": f"Tag{number % 3}"}
    answer = broker.ask(
        SEND,
        send_fields(
            topic,
            number % QUEUES,
            "".join(f"{k}\x01{v}\x02" for k, v in (texts | properties).items()),
            sys_flag,
        ),
        b"body of %d " % number + b"x" * (number % 700),
    )
    assert answer.code == SUCCESS, answer.remark
    if not sys_flag and "DELAY" not in properties:
        broker.remember(topic, answer)
    return answer.ext


def position(sent: dict[str, str]) -> int:
    return int(sent["msgId"][16:], 16)


def send_batch(broker: Real, number: int, topic: str) -> None:
    items = [BatchItem(0, b"item", b"KEYS\x01b%d\x02" % at) for at in range(number // 10 % 5 + 1)]
    answer = broker.ask(
        SEND_BATCH,
        batch_fields(topic, number, f"UNIQ_KEY\x01B{number}\x02TAGS\x01Tag1\x02"),
        join_batch(items),
    )
    assert answer.code == SUCCESS, answer.remark
    broker.remember(topic, answer)


def send_everything(broker: Real, rounds: int) -> None:
    """Plain messages, delays, retries, both kinds of batches, transactions, offsets."""
    for number in range(rounds):
        sent = send(broker, number)
        if number % 10 == 0:
            send(broker, number, DELAY=str(number // 10 % 3 + 1))
            send_batch(broker, number, TOPIC)
            send_batch(broker, number, BATCHES)
            send(broker, number, topic=BATCHES)
        if number % 15 == 0:
            back = {"offset": position(sent), "group": "G", "delayLevel": number % 3}
            answer = broker.ask(SEND_BACK, {**back, "maxReconsumeTimes": 16})
            assert answer.code == SUCCESS, answer.remark
        if number % 20 == 0:
            half = send(broker, number, SysFlag.PREPARED, TRAN_MSG="true", PGROUP="P")
            end_transaction(broker, half, COMMIT if number % 40 else ROLLBACK)
    for queue_id in range(QUEUES):
        offset = {"consumerGroup": "G", "topic": TOPIC, "queueId": queue_id, "commitOffset": 5}
        assert broker.ask(UPDATE_OFFSET, offset).code == SUCCESS


def end_transaction(broker: Real, half: dict[str, str], outcome: int) -> None:
    broker.ask(
        END_TRANSACTION,
        {
            "producerGroup": "P",
            "tranStateTableOffset": half["queueOffset"],
            "commitLogOffset": position(half),
            "commitOrRollback": outcome,
            "fromTransactionCheck": "false",
            "msgId": half["msgId"],
            "transactionId": half.get("transactionId", ""),
        },
    )


def settle(broker: Real) -> None:
    """Until nothing has come to the queues for a while: delays and retries are back by then."""
    broker.settle()
    before, now, quiet = -1, 0, 0
    while quiet < 4:
        time.sleep(0.5)
        before, now = now, sum(broker.offset(MAX, queue_id) for queue_id in range(QUEUES))
        quiet = quiet + 1 if before == now else 0


def check(root: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "trimq", "check", str(root), "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if report["sound"] else 1)
    return report


def inspect(path: Path, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "trimq", "inspect", str(path), "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def open_ours(root: Path) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=int(SETTINGS["mappedFileSizeCommitLog"]),
        mapped_file_size_consume_queue=int(SETTINGS["mappedFileSizeConsumeQueue"]),
        mapper_file_size_batch_consume_queue=46 * 20,
        max_hash_slot_num=int(CHECKED["maxHashSlotNum"]),
        max_index_num=int(CHECKED["maxIndexNum"]),
    )
    return MessageStore(config, lambda: int(time.time() * 1000))


def test_what_the_real_broker_writes_is_sound(broker: Real) -> None:
    broker.start()
    broker.create(BATCHES, attributes="+queue.type=BatchCQ")
    send_everything(broker, 600)
    report = check(broker.store)
    assert (report["problems"], report["state"]) == ([], "running")
    settle(broker)
    broker.stop()
    report = check(broker.store)
    assert (report["problems"], report["state"]) == ([], "closed")
    assert report["log"]["records"] > 800
    assert report["index_files"] > 1
    assert report["tables"] > 4
    assert check(broker.store, "--quick")["problems"] == []
    foreseen_and_done(broker, report)


def test_a_killed_real_broker_leaves_nothing_but_what_recovery_repairs(broker: Real) -> None:
    broker.start()
    broker.create(BATCHES, attributes="+queue.type=BatchCQ")
    send_everything(broker, 300)
    broker.stop(kill=True)
    report = check(broker.store)
    assert (report["problems"], report["state"]) == ([], "aborted")
    assert report["recovery"]["refusal"] is None
    foreseen_and_done(broker, report)


def foreseen_and_done(broker: Real, report: dict[str, Any]) -> None:
    """Opening a copy with our store does what the check foretold."""
    copy = broker.store.with_name("copy")
    shutil.copytree(broker.store, copy)
    store = open_ours(copy)
    done = store.open({BATCHES: "BatchCQ"})
    store.close()
    foreseen = report["recovery"]
    assert [done.start, done.end, done.records] == [
        foreseen["start"],
        foreseen["end"],
        foreseen["records"],
    ]
    assert check(copy)["problems"] == []


def test_inspect_prints_the_real_brokers_files(broker: Real) -> None:
    broker.start()
    broker.create(BATCHES, attributes="+queue.type=BatchCQ")
    send_everything(broker, 60)
    settle(broker)
    found = inspect(broker.store / "commitlog", "--key", "k7")
    assert [record["body"].split(" x")[0] for record in found[:-1]] == ["body of 7"]
    place = found[0]["physical_offset"]
    queue = broker.store / "consumequeue" / TOPIC / "3"
    entries = inspect(queue, "--physical-offset", str(place))
    assert entries[0]["number"] == found[0]["queue_offset"]
    index = broker.store / "index"
    chain = inspect(index, "--topic", TOPIC, "--key", "k7")
    assert place in [entry.get("physical_offset") for entry in chain]
    batches = inspect(broker.store / "batchconsumequeue" / BATCHES)
    assert sum(entry.get("count", 0) for entry in batches) == (1 + 2 + 3 + 4 + 5 + 1) + 6
    broker.stop()
    for name in ("checkpoint", "lock", "config", "config/timercheck"):
        assert inspect(broker.store / name)
    # No timer message was sent: the wheel is read to its end and has no slot in use.
    assert_nothing_to_print(broker.store / "timerwheel")


def assert_nothing_to_print(path: Path) -> None:
    command = [sys.executable, "-m", "trimq", "inspect", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert {json.loads(line)["reason"] for line in done.stdout.splitlines()} <= {"end of file"}
    assert "nothing to print" in done.stderr
