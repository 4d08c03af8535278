"""Messages handed out by one broker, revived by the other one: the real 5.5.0 and TriMQ over one store, in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.store.shared_directory import SETTINGS
from compat_tests.store.turns import Sides
from compat_tests.wire.asks import ask, create_topic, send
from compat_tests.wire.frames import Frame
from compat_tests.wire.popped import pop
from compat_tests.wire.records import Record, read_records
from compat_tests.wire.stage import Stage
from tests.patience import PATIENCE

ACK, CHANGE = 200051, 200053
SUCCESS, NOTHING = 0, 210
# Long enough for a change of brokers; the second and the third where that has taken longer.
INVISIBLE_MILLIS = (30_000, 120_000, 480_000)
# An acknowledgement has to come so long before its message is due.
IN_TIME_SECONDS = 5.0
# flushConsumerOffsetInterval and a little more.
OFFSETS_WRITTEN_SECONDS = 7.0


class Consumer:
    """Pops, and remembers handles by the body of the message."""

    def __init__(self, invisible_millis: int) -> None:
        self._invisible_millis = invisible_millis
        self.handles: dict[bytes, dict[str, object]] = {}
        self.due: dict[bytes, float] = {}

    def pop(self, stage: Stage, poll_millis: int = 0) -> list[Record]:
        frame = pop(
            invisibleTime=self._invisible_millis,
            pollTime=poll_millis,
            bornTime=int(time.time() * 1000),
        )
        answer = stage.ask(frame)
        assert answer.code in {SUCCESS, NOTHING}, (answer.code, answer.remark)
        found = read_records(answer.body) if answer.code == SUCCESS else []
        for record in found:
            self._remember(record, answer)
        return found

    def _remember(self, record: Record, answer: Frame) -> None:
        ext = answer.ext
        starts = {part[: part.rindex(" ")]: part for part in ext["startOffsetInfo"].split(";")}
        retry = "POP_CK" in record.properties
        first = starts[f"{int(retry)} {record.queue_id}"].split(" ")[2]
        self.handles[record.body] = {
            "consumerGroup": "$G",
            "topic": "%RETRY%$G_$T" if retry else "$T",
            "queueId": record.queue_id,
            "offset": record.queue_offset,
            "extraInfo": f"{first} {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']}"
            f" {int(retry)} broker-a {record.queue_id} {record.queue_offset}",
        }
        self.due[record.body] = (int(ext["popTime"]) + int(ext["invisibleTime"])) / 1000

    def ack(self, stage: Stage, body: bytes) -> None:
        stage.must(ask(ACK, self.handles[body]))

    def wait_for(self, stage: Stage, count: int) -> dict[bytes, int]:
        """Bodies and how often each was tried before."""
        found: dict[bytes, int] = {}
        deadline = max(time.time(), *self.due.values()) + PATIENCE
        while len(found) < count:
            assert time.time() < deadline, found
            due = dict(self.due)
            for record in self.pop(stage, poll_millis=1000):
                assert record.body not in found
                assert time.time() >= due[record.body], "it came too early"
                found[record.body] = record.reconsume_times
        return found


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[], Sides]]:
    """Makes both brokers, over a new folder."""
    with ExitStack() as stack:

        def made() -> Sides:
            settings = {**SETTINGS, "autoCreateTopicEnable": "true"}
            both = Sides(Path(tempfile.mkdtemp(dir=tmp_path)), settings, "pops")
            stack.callback(both.end)
            return both

        yield made


def stop(sides: Sides, kill: bool) -> None:
    if kill:
        # The real broker reads no checkpoint again: it hands out what the file of the offsets does not know yet.
        sides.wait_until_written(OFFSETS_WRITTEN_SECONDS, "consumerOffset.json")
    sides.stop(kill)


def handed_out(sides: Sides, consumer: Consumer, first: str) -> None:
    """Four messages by the first broker, and one is acknowledged there."""
    stage = sides.start(first)
    stage.must(create_topic(queues=1))
    bodies = [b"m%d" % number for number in range(4)]
    for body in bodies:
        stage.must(send(body))
    popped = []
    while len(popped) < len(bodies):
        # The real broker's queues are filled in the background.
        popped += [record.body for record in consumer.pop(stage)]
    assert popped == bodies
    consumer.ack(stage, b"m1")


def handed_over(
    begin: Callable[[], Sides], first: str, second: str, kill: bool
) -> tuple[Sides, Stage, Consumer]:
    """The second broker runs, and what the first one handed out is not due yet."""
    for millis in INVISIBLE_MILLIS:
        sides, consumer = begin(), Consumer(millis)
        handed_out(sides, consumer, first)
        stop(sides, kill)
        stage = sides.start(second)
        if time.time() < min(consumer.due.values()) - IN_TIME_SECONDS:
            return sides, stage, consumer
        sides.end()
    raise AssertionError(f"{second} is never there in time")


@pytest.mark.parametrize(
    ("first", "second", "kill"),
    [("real", "ours", False), ("ours", "real", False), ("ours", "real", True)],
    ids=["real-ours-stopped", "ours-real-stopped", "ours-real-killed"],
)
def test_one_revives_what_the_other_handed_out(
    begin: Callable[[], Sides], first: str, second: str, kill: bool
) -> None:
    sides, stage, consumer = handed_over(begin, first, second, kill)
    consumer.ack(stage, b"m3")
    again = consumer.wait_for(stage, 2)
    assert again == {b"m0": 1, b"m2": 1}
    consumer.ack(stage, b"m2")
    stop(sides, kill)

    stage = sides.start(first)
    assert consumer.wait_for(stage, 1) == {b"m0": 2}
    consumer.ack(stage, b"m0")
    assert consumer.pop(stage, poll_millis=3000) == []
