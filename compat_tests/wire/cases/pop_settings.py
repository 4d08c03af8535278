"""POP under settings that are not the default: whoever changes one plays alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import ask, create_topic, properties, pull, query_offset, send
from compat_tests.wire.case import Case
from compat_tests.wire.popped import (
    ACK,
    RETRY,
    ack,
    answer,
    batch_ack,
    change,
    entry,
    handle_of,
    pop,
    popped_again,
    show,
)
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import changed_settings

PEEK: Final = 200052
RETRY_V2: Final = "%RETRY%$G+$T"
# How long the pops hide what they get, and how long the real broker takes to move an offset.
SHORT: Final = 1000
COMMITTING: Final = 1.5


def cases() -> Iterator[Case]:
    v2 = "enableRetryTopicV2"
    v1 = "retrieveMessageFromPopRetryTopicV1"
    yield under("second naming of retry topics", again_in_v2, f"{v2}=true", f"{v2}=false")
    yield under(
        "second naming alone",
        again_in_v2,
        f"{v2}=true\n{v1}=false",
        f"{v2}=false\n{v1}=true",
    )
    yield under("both namings", both_namings, "", "")
    yield under("no timer wheel", without_wheel, "timerWheelEnable=false", "timerWheelEnable=true")
    yield under("one may wait", one_may_wait, "popPollingSize=0", "popPollingSize=1024")
    yield under(
        "retries never first",
        retries_last,
        "popFromRetryProbability=0",
        "popFromRetryProbability=20",
    )
    yield under(
        "retries always first",
        retries_last,
        "popFromRetryProbability=100",
        "popFromRetryProbability=20",
    )


def under(name: str, play: Callable[[Stage], None], text: str, back: str) -> Case:
    def played(stage: Stage) -> None:
        if not text:
            play(stage)
            return
        with changed_settings(stage, text, back):
            play(stage)

    return Case(f"pop settings: {name}", played, alone=True)


def filled(stage: Stage, count: int = 2) -> None:
    stage.must(create_topic(queues=1))
    for number in range(count):
        text = properties(UNIQ_KEY=f"U{number}", TAGS="A", WAIT="true")
        stage.must(send(b"m%d" % number, properties=text))


def show_offset(stage: Stage, topic: str) -> None:
    time.sleep(COMMITTING)
    stage.show(
        f"offset of {topic}",
        query_offset(topic=topic, queueId=0, consumerGroup="$G", setZeroIfNotFound=False),
    )


def again_in_v2(stage: Stage) -> None:
    """What nobody acknowledged lies in the topic of the second naming, and is popped from there."""
    filled(stage)
    popped = stage.must(pop(invisibleTime=SHORT))
    stage.show("one", ack(handle_of(popped, 1), 1))
    replies = popped_again(stage, pop(invisibleTime=SHORT))
    stage.record("again", [answer(reply) for reply in replies])
    stage.show("in the topic", pull(topic=RETRY_V2), reading.as_records)
    stage.show("not in the other", pull(topic=RETRY))
    handle = handle_of(replies[0])
    stage.show("ack under the topic's own name", ack(handle, 0, ACK, topic=RETRY_V2))
    stage.show("ack in a batch", batch_ack(entry(replies[0], 0)))
    show(stage, "hidden again", change(handle, 0, topic=RETRY_V2, invisibleTime=SHORT))
    show_offset(stage, RETRY_V2)
    show_offset(stage, "$T")


def both_namings(stage: Stage) -> None:
    """A message that went to the first naming is found after the setting has changed."""
    filled(stage, 1)
    stage.must(pop(invisibleTime=SHORT))
    first = popped_again(stage, pop(invisibleTime=SHORT))
    stage.record("in the first", [answer(reply) for reply in first])
    text, back = "enableRetryTopicV2=true", "enableRetryTopicV2=false"
    with changed_settings(stage, text, back):
        second = popped_again(stage, pop(invisibleTime=SHORT))
        stage.record("again", [answer(reply) for reply in second])
    stage.show("the first", pull(topic=RETRY), reading.as_records)
    stage.show("the second", pull(topic=RETRY_V2))


def without_wheel(stage: Stage) -> None:
    filled(stage)
    show(stage, "pop", pop())
    show(stage, "in order", pop(order=True))
    peek = ask(PEEK, {"topic": "$T", "queueId": 0, "maxMsgNums": 1, "consumerGroup": "$G"})
    stage.show("peek", peek, reading.as_records)


def one_may_wait(stage: Stage) -> None:
    filled(stage, 0)
    show(stage, "no place", pop(pollTime=300))


def retries_last(stage: Stage) -> None:
    """Both topics are read all the same; the setting says which one comes first."""
    filled(stage)
    stage.must(pop(invisibleTime=SHORT, maxMsgNums=1))
    stage.until(pull(topic=RETRY), lambda reply: reply.code == 0)
    found = stage.must(pop(maxMsgNums=1))
    stage.record("first", [one["body"] for one in reading.as_records(found.body)])
    rest = stage.must(pop(maxMsgNums=1))
    stage.record("then", [one["body"] for one in reading.as_records(rest.body)])
