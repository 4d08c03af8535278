"""Order blocks and lite offsets that one broker left behind, under the other one: the real 5.5.0 and TriMQ in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.store.shared_directory import SETTINGS
from compat_tests.store.turns import Sides
from compat_tests.wire.asks import query_offset
from compat_tests.wire.cases import lite_topics, orderly_pops
from compat_tests.wire.frames import Frame
from compat_tests.wire.records import read_records
from compat_tests.wire.stage import Stage
from tests.patience import until

LIGHT: Final = {
    **SETTINGS,
    "autoCreateTopicEnable": "true",
    "enableLmq": "true",
    "enableMultiDispatch": "true",
}
SUCCESS, NOTHING = 0, 210
# Longer than any change of brokers: on a busy machine a real one stops in 20 s, and starts in minutes.
HELD_MILLIS: Final = 900_000
# Of what is awaited after the last change.
INVISIBLE_MILLIS: Final = 50_000
# Offsets and blocks are written every 5 s, by the real broker from its tenth second on.
WRITTEN_SECONDS: Final = 16.0
TURNS: Final = pytest.mark.parametrize(
    ("first", "second", "kill"),
    [("real", "ours", False), ("ours", "real", False), ("ours", "real", True)],
    ids=["real-ours-stopped", "ours-real-stopped", "ours-real-killed"],
)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    both = Sides(tmp_path / "both", LIGHT, "blocks")
    yield both
    both.end()


def stop(sides: Sides, kill: bool) -> None:
    if kill:
        sides.wait_until_written(
            WRITTEN_SECONDS, "lmqConsumerOffset.json", "consumerOrderInfo.json"
        )
    sides.stop(kill)


def bodies(reply: Frame) -> list[bytes]:
    assert reply.code in {SUCCESS, NOTHING}, (reply.code, reply.remark)
    return [record.body for record in read_records(reply.body)] if reply.body else []


def ack_in_order(stage: Stage, popped: Frame, at: int) -> None:
    stage.must(orderly_pops.ack(orderly_pops.handle_of(popped, at), at))


@TURNS
def test_a_block_holds_under_the_other_broker(
    sides: Sides, first: str, second: str, kill: bool
) -> None:
    def in_order(stage: Stage, attempt: str, hidden: int = HELD_MILLIS) -> Frame:
        return stage.ask(orderly_pops.pop(attempt, invisibleTime=hidden))

    stage = sides.start(first)
    orderly_pops.filled(stage, 6)
    popped = in_order(stage, "a")
    assert bodies(popped) == [b"m0", b"m1"]
    ack_in_order(stage, popped, 0)
    stop(sides, kill)

    stage = sides.start(second)
    assert bodies(in_order(stage, "b")) == []
    again = in_order(stage, "a")
    assert bodies(again) == [b"m1", b"m2"], "the same attempt goes on"
    assert bodies(in_order(stage, "b")) == []
    # Of a batch that has been replaced.
    ack_in_order(stage, popped, 1)
    assert bodies(in_order(stage, "b")) == []
    ack_in_order(stage, again, 1)
    ack_in_order(stage, again, 2)
    popped = in_order(stage, "b", INVISIBLE_MILLIS)
    assert bodies(popped) == [b"m3", b"m4"]
    due = (int(popped.ext["popTime"]) + INVISIBLE_MILLIS) / 1000
    stop(sides, kill)

    stage = sides.start(first)
    found = until(lambda: bodies(in_order(stage, "c")), "they come again", pause=0.2)
    assert time.time() >= due, "it came too early"
    assert found == [b"m3", b"m4"]


def lite(stage: Stage, *expected: bytes) -> Frame:
    """The group's next messages of its lite topic; its block was in memory alone."""
    stage.must(lite_topics.subscribe("PARTIAL_ADD", "one"))
    found: list[Frame] = []

    def come() -> bool:
        found.append(stage.ask(lite_topics.pop()))
        return bodies(found[-1]) != []

    until(come, f"{expected} by a lite pop")
    assert bodies(found[-1]) == list(expected)
    return found[-1]


@TURNS
def test_lite_offsets_are_found_by_the_other_broker(
    sides: Sides, first: str, second: str, kill: bool
) -> None:
    stage = sides.start(first)
    lite_topics.filled(stage)
    stage.must(lite_topics.subscribe("PARTIAL_ADD", "one"))
    lite_topics.sent(stage, *(f"m{number}" for number in range(6)))
    popped = lite(stage, b"m0", b"m1")
    stage.must(lite_topics.ack(popped, 0))
    stage.must(lite_topics.ack(popped, 1))
    assert lite_offset(stage) == 2
    # Handed out and not acknowledged: a restart redelivers them at once.
    lite(stage, b"m2", b"m3")
    stop(sides, kill)

    stage = sides.start(second)
    assert lite_offset(stage) == 2
    popped = lite(stage, b"m2", b"m3")
    stage.must(lite_topics.ack(popped, 2))
    stage.must(lite_topics.ack(popped, 3))
    stop(sides, kill)

    stage = sides.start(first)
    lite(stage, b"m4", b"m5")


def lite_offset(stage: Stage) -> int:
    asked = query_offset(topic=lite_topics.QUEUE, consumerGroup="$G", queueId=0)
    return int(stage.must(asked).ext["offset"])
