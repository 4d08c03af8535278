"""Half messages of one broker, ended under the other one: the real 5.5.0 and TriMQ over one store, in turn.

Whoever is killed, with whatever it had not written down: what was committed is delivered once, what is pending is
asked about, once a round, and what was ended is not.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.store.shared_directory import SETTINGS
from compat_tests.store.turns import Sides
from compat_tests.wire.asks import PULL_SUBSCRIPTION, create_topic, heartbeat, pull
from compat_tests.wire.cases.transactions import COMMIT, ROLLBACK, end, half
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import NoReply
from compat_tests.wire.records import Record, read_properties, read_records
from compat_tests.wire.stage import Stage
from tests.patience import PATIENCE, until

CHECK: Final = 39
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
ROUND_SECONDS: Final = 2.0
# Longer than a batch of ops waits, and much shorter than a round.
QUIET_SECONDS: Final = 0.3
ASKING: Final = {
    **SETTINGS,
    "autoCreateTopicEnable": "true",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": str(int(ROUND_SECONDS * 1000)),
    "transactionCheckMax": "1000",
    # The real broker writes its ops so much later, and loses what it has not written, even when it is stopped.
    "transactionOpBatchInterval": "100",
}


class Producer:
    """Asked on a connection of its own; keeps what it was asked about, by key."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        self.asked: Counter[str] = Counter()
        self.checks: dict[str, int] = {}

    def question(self, seconds: float) -> tuple[str, Record] | None:
        try:
            frame = self._stage.link("broker-2").pushed(seconds)
        except NoReply:
            return None
        assert frame.code == CHECK
        (record,) = read_records(frame.body)
        properties = read_properties(record.properties)
        unique, checks = properties["UNIQ_KEY"], int(properties["TRANSACTION_CHECK_TIMES"])
        assert checks > self.checks.get(unique, 0)
        self.checks[unique] = checks
        self.asked[unique] += 1
        return unique, record

    def decide(self, record: Record, how: int) -> None:
        fields = {
            "tranStateTableOffset": record.queue_offset,
            "commitLogOffset": record.physical_offset,
            "fromTransactionCheck": True,
        }
        self._stage.must(end(_sent(), how, **fields))


def _sent() -> Frame:
    """The answer to a send, as far as an end by other offsets looks at it."""
    return Frame(0, ext={"queueOffset": "0", "msgId": "0" * 32})


def written_ops(stage: Stage) -> list[str]:
    """Offsets of the halves that the op topic says are decided or put back."""
    bodies: list[bytes] = []
    while True:
        found = stage.ask(
            pull(
                topic=OP_TOPIC,
                queueOffset=len(bodies),
                sysFlag=PULL_SUBSCRIPTION,
                suspendTimeoutMillis=0,
            )
        )
        if found.code != 0:
            break
        bodies += [record.body for record in read_records(found.body)]
    return [offset for body in bodies for offset in body.decode().split(",")]


def wait_for_ops(stage: Stage, ended: set[str]) -> None:
    """Until those are written, and those of a round that has just put back what is pending."""
    until(lambda: ended <= set(written_ops(stage)), "the ops are written")
    # Two rounds with nothing pending write none; else the moment is one behind the ops of a round.
    seen, still = len(written_ops(stage)), time.monotonic()
    while time.monotonic() < still + ROUND_SECONDS * 2:
        time.sleep(QUIET_SECONDS)
        if len(written_ops(stage)) != seen:
            break
    while len(written_ops(stage)) != seen:
        seen = len(written_ops(stage))
        time.sleep(QUIET_SECONDS)


def delivered(stage: Stage) -> list[str]:
    found = stage.ask(pull(sysFlag=PULL_SUBSCRIPTION, suspendTimeoutMillis=0, maxMsgNums=32))
    records = read_records(found.body) if found.code == 0 else []
    return sorted(read_properties(record.properties)["UNIQ_KEY"] for record in records)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    both = Sides(tmp_path / "both", ASKING, "transactions")
    yield both
    both.end()


@pytest.mark.parametrize(
    ("first", "second", "kill"),
    [
        ("real", "ours", False),
        ("real", "ours", True),
        ("ours", "real", False),
        ("ours", "real", True),
    ],
    ids=["real-ours-stopped", "real-ours-killed", "ours-real-stopped", "ours-real-killed"],
)
def test_one_goes_on_where_the_other_stopped(
    sides: Sides, first: str, second: str, kill: bool
) -> None:
    stage = sides.start(first)
    stage.must(create_topic(queues=1))
    keys = [f"U{number}" for number in range(6)]
    for key in keys:
        stage.must(half(more={"UNIQ_KEY": key}))
    # Asked once, so that those that are pending lie where they were put back.
    producer = Producer(stage)
    deadline = time.monotonic() + PATIENCE
    while set(producer.asked) < set(keys):
        assert time.monotonic() < deadline, producer.asked
        producer.question(1)
    late = {key: stage.must(half(more={"UNIQ_KEY": key})) for key in ("L0", "L1")}
    stage.must(end(late["L0"], COMMIT))
    stage.must(end(late["L1"], ROLLBACK))
    wait_for_ops(stage, {late[key].ext["queueOffset"] for key in late})
    sides.stop(kill)

    stage = sides.start(second)
    assert delivered(stage) == ["L0"]
    producer = Producer(stage)
    pending = set(keys)
    decided: dict[str, str] = {}
    # From here on: the change of brokers may have taken minutes.
    deadline = time.monotonic() + PATIENCE
    while decided.keys() < pending:
        assert time.monotonic() < deadline, producer.asked
        question = producer.question(1)
        if question is not None and question[0] not in decided:
            unique, record = question
            producer.decide(record, ROLLBACK if unique == "U5" else COMMIT)
            decided[unique] = str(record.queue_offset)
    # Nobody was asked twice in a round, and not about what had been ended.
    assert set(producer.asked) == pending
    expected = sorted([*keys[:5], "L0"])
    if not kill:
        wait_for_ops(stage, set(decided.values()))
    sides.stop(kill)

    stage = sides.start(first)
    producer = Producer(stage)
    # Ops that a killed real broker had not written are lost; its copies say the same, and a rollback has none.
    lost = {"U5", "L1"} if second == "real" and kill else set()
    quiet = time.monotonic() + 3 * ROUND_SECONDS
    while time.monotonic() < quiet:
        question = producer.question(ROUND_SECONDS)
        if question is not None:
            assert question[0] in lost
            producer.decide(question[1], ROLLBACK)
    assert delivered(stage) == expected
