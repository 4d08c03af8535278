"""A store of the real broker with everything pending that TriMQ does not do yet: counted, refused, or left.

The real broker opens it again afterwards and goes on; what it has finished then is not counted any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

import trimq
from compat_tests.store.shared_directory import SETTINGS, SUCCESS, TOPIC, Real, open_ours
from compat_tests.wire import records
from trimq.broker.pending.kinds import KINDS, MessagesPending
from trimq.broker.pending.taken_over import TakenOver

SEND, END_TRANSACTION, POP, ACK, MAX = 10, 37, 200050, 200051, 30
COMMIT: Final = 8
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"


class Writer:
    """What clients would do, by raw requests."""

    def __init__(self, broker: Real) -> None:
        self._broker = broker
        self._ids = 0

    def send(self, topic: str = TOPIC, sys_flag: int = 0, **properties: str) -> dict[str, str]:
        self._ids += 1
        given = {"UNIQ_KEY": f"{self._ids:032d}", **properties}
        answer = self._broker.ask(
            SEND,
            {
                "producerGroup": "P",
                "topic": topic,
                "defaultTopic": "TBW102",
                "defaultTopicQueueNums": 4,
                "queueId": 0,
                "sysFlag": sys_flag,
                "bornTimestamp": int(time.time() * 1000),
                "flag": 0,
                "properties": "".join(f"{key}\x01{value}\x02" for key, value in given.items()),
                "reconsumeTimes": 0,
            },
            b"pending",
        )
        assert answer.code == SUCCESS, answer.remark
        return dict(answer.ext)

    def half(self) -> dict[str, str]:
        return self.send(sys_flag=4, TRAN_MSG="true", PGROUP="P")

    def commit(self, half: dict[str, str]) -> None:
        answer = self._broker.ask(
            END_TRANSACTION,
            {
                "topic": TOPIC,
                "producerGroup": "P",
                "tranStateTableOffset": half["queueOffset"],
                "commitLogOffset": int(half["msgId"][-16:], 16),
                "commitOrRollback": COMMIT,
                "fromTransactionCheck": "false",
                "msgId": half["transactionId"],
                "transactionId": half["transactionId"],
            },
        )
        assert answer.code == SUCCESS, answer.remark

    def pop(self, topic: str, invisible_millis: int) -> list[dict[str, object]]:
        """What has to be said to acknowledge each of the messages."""
        answer = self._broker.ask(
            POP,
            {
                "consumerGroup": "G",
                "topic": topic,
                "queueId": 0,
                "maxMsgNums": 32,
                "invisibleTime": invisible_millis,
                "pollTime": 1000,
                "bornTime": int(time.time() * 1000),
                "initMode": 0,
                "expType": "TAG",
                "exp": "*",
                "order": "false",
            },
        )
        assert answer.code == SUCCESS, answer.remark
        found = records.read_records(answer.body)
        ext = answer.ext
        first = min(record.queue_offset for record in found)
        head = f"{first} {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} 0 broker-a 0"
        return [
            {
                "consumerGroup": "G",
                "topic": topic,
                "queueId": 0,
                "offset": record.queue_offset,
                "extraInfo": f"{head} {record.queue_offset}",
            }
            for record in found
        ]

    def acknowledge(self, message: dict[str, object]) -> None:
        answer = self._broker.ask(ACK, message)
        assert answer.code == SUCCESS, answer.remark

    def waits_for(self, topic: str, count: int, seconds: float = 30) -> None:
        """Until so many messages are in queue 0 of a topic that the broker itself writes to."""
        eventually(lambda: self.count(topic) >= count, f"{count} messages in {topic}", seconds)

    def count(self, topic: str) -> int:
        return int(self._broker.ask(MAX, {"topic": topic, "queueId": 0}).ext["offset"])


def eventually(holds: Callable[[], bool], what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} s: {what}")
        time.sleep(0.1)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    # A check, and there is one with each stop, would put halves back as new messages, which the end
    # of the first copy does not end.
    never = {"transactionTimeOut": "3600000"}
    broker = Real(tmp_path / "broker", {**SETTINGS, **never})
    yield broker
    broker.stop(kill=True)


def counted(root: Path) -> list[str]:
    store = open_ours(root)
    try:
        return [str(kind.count(TakenOver(store, root))) for kind in KINDS]
    finally:
        store.close()


async def test_everything_that_is_pending(broker: Real, caplog: pytest.LogCaptureFixture) -> None:
    broker.start()
    broker.create("Popped")
    broker.create("Again")
    writer = Writer(broker)
    for _ in range(3):
        writer.send("Again")
        writer.send("Popped")
        writer.send(TIMER_DELAY_SEC="3600")
    writer.send(TIMER_DELAY_SEC="1")
    writer.pop("Again", invisible_millis=1000)
    popped = writer.pop("Popped", invisible_millis=600_000)
    writer.acknowledge(popped[0])
    halves = [writer.half() for _ in range(3)]
    writer.commit(halves[1])
    # The op comes some seconds after the end, the retries once their time is up.
    writer.waits_for(OP_TOPIC, 1)
    writer.waits_for("%RETRY%G_Again", 3)
    broker.stop()
    root = broker.store
    assert counted(root) == ["0", "2", "3"]
    with pytest.raises(MessagesPending, match="2 messages that were handed out by POP"):
        async with trimq.serve(root, settings=SETTINGS):
            pass
    async with trimq.serve(root, settings={**SETTINGS, "leavePendingMessages": "true"}):
        pass
    assert "3 messages that POP has to hand out once more" in caplog.text
    broker.start()
    ops = writer.count(OP_TOPIC)
    writer.commit(halves[0])
    for message in popped[1:]:
        writer.acknowledge(message)
    writer.waits_for(OP_TOPIC, ops + 1)
    broker.stop()
    assert counted(root) == ["0", "0", "3"]
