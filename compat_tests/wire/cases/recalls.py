"""RECALL_MESSAGE and TIMER_DEL_UNIQKEY: every refusal in its order, what is a handle, what is taken back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from typing import Final

from compat_tests.wire.asks import ask, create_topic, properties, pull, send
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_records
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import (
    HOUR,
    arrived,
    changed_settings,
    counted,
    later,
    now,
    show,
    timer,
)

RECALL: Final = 370
WHEEL: Final = "rmq_sys_wheel_timer"
ENABLED: Final = "recallMessageEnable=true"


def cases() -> Iterator[Case]:
    yield row("recall: forbidden", recall("djEg"))
    yield Case("recall: refusals", recall_refusals, alone=True)
    yield Case("recall: handles", recall_handles, alone=True)
    yield Case("recall: one of two", recall_one, alone=True)
    yield Case("recall: by hand", partial(recall_by_hand, with_topic=False), alone=True)
    yield Case(
        "recall: by hand with the topic", partial(recall_by_hand, with_topic=True), alone=True
    )
    yield Case("recall: of another slot", recall_elsewhere, alone=True)
    yield Case("recall: what is stored", recall_stored, alone=True)


def recall(handle: str, topic: str = "$T", **fields: object) -> Frame:
    usual = {"producerGroup": "$P", "topic": topic, "recallHandle": handle}
    return ask(RECALL, {**usual, **fields})


def handle_of(
    stage: Stage, topic: str = "$T", broker: str = "broker-a", at: object = None, start: str = "v1"
) -> str:
    at = later(HOUR) if at is None else at
    text = f"{start} {stage.fill(topic)} {broker} {at} U1"
    return base64.urlsafe_b64encode(text.encode()).decode()


def recall_refusals(stage: Stage) -> None:
    stage.must(create_topic())
    late = handle_of(stage, "Other", "broker-b", 5)
    writable = "brokerPermission=6\nallowRecallWhenBrokerNotWriteable=true"
    stage.show("forbidden", recall("no handle", "no-$T"))
    with changed_settings(stage, ENABLED, "recallMessageEnable=false"):
        not_writable = "brokerPermission=4\nallowRecallWhenBrokerNotWriteable=false"
        with changed_settings(stage, not_writable, writable):
            stage.show("broker not writable", recall("no handle", "no-$T"))
        early = f"startAcceptSendRequestTimeStamp={now() + HOUR}"
        with changed_settings(stage, early, "startAcceptSendRequestTimeStamp=0"):
            stage.show("too early", recall("no handle", "no-$T"))
        stage.show("no such topic", recall("no handle", "no-$T"))
        stage.show("no handle", recall("no handle"))
        stage.show("another topic", recall(late))
        stage.show("another broker", recall(handle_of(stage, "$T", "broker-b", 5)))
        stage.show("too late", recall(handle_of(stage, at=5)))
        stage.show("no time", recall(handle_of(stage, at="soon")))
        stage.show("too far", recall(handle_of(stage, at=now() + 259_200_000 + 5000)))
        with changed_settings(stage, "timerWheelEnable=false", "timerWheelEnable=true"):
            stage.show("put refused", recall(handle_of(stage)))
        with changed_settings(stage, "brokerPermission=4", "brokerPermission=6"):
            stage.show("not writable, but allowed", recall(handle_of(stage)))
        stage.show("accepted", recall(handle_of(stage)))
        stage.show("on the fast port", recall(handle_of(stage)), on="fast")
        stage.show("without a group", recall(handle_of(stage), producerGroup=None))
        stage.show("without a topic", recall(handle_of(stage), topic=None))  # type: ignore[arg-type]
        stage.show("without a handle", recall(None))  # type: ignore[arg-type]
        stage.show("without anything", ask(RECALL))


def recall_handles(stage: Stage) -> None:
    """Which texts are a handle."""
    stage.must(create_topic())
    good = handle_of(stage)
    blank = base64.urlsafe_b64encode(b"   ").decode()
    texts = {
        "empty": "",
        "one letter": "A",
        "a blank in it": good[:8] + " " + good[8:],
        "a plus sign": "+" + good[1:],
        "a line break": good + "\n",
        "no padding": good.rstrip("="),
        "more padding": good + "=",
        "text after the padding": base64.urlsafe_b64encode(b"v1 $").decode() + "====AA",
        "another version": handle_of(stage, start="v2"),
        "no version": handle_of(stage, start=""),
        "four words": base64.urlsafe_b64encode(b"v1 T broker-a 5").decode(),
        "a blank at the end": base64.urlsafe_b64encode(b"v1 T broker-a 5 ").decode(),
        "only blanks": blank,
    }
    with changed_settings(stage, ENABLED, "recallMessageEnable=false"):
        for what, text in texts.items():
            stage.show(what, recall(text))
        six = f"v1 {stage.topic} broker-a {later(HOUR)} U1 more"
        stage.show("six words", recall(base64.urlsafe_b64encode(six.encode()).decode()))


def recall_one(stage: Stage) -> None:
    stage.must(create_topic())
    with changed_settings(stage, ENABLED, "recallMessageEnable=false"):
        asked = later(4000)
        made = {}
        for unique in ("U1", "U2"):
            text = properties(UNIQ_KEY=unique, TIMER_DELIVER_MS=str(asked))
            made[unique] = stage.must(send(unique.encode(), properties=text))
        handle = made["U1"].ext["recallHandle"]
        stage.show("recalled", recall(handle))
        stage.show("once more", recall(handle))
        stage.must(timer(b"afterwards", TIMER_DELIVER_MS=asked + 1000))
        stage.record("messages", [one["body"] for one in arrived(stage, 2)])
        stage.show("too late", recall(handle))
        stage.record("none waits", counted(stage, 0)["count"])


def recall_by_hand(stage: Stage, with_topic: bool) -> None:
    stage.must(create_topic())
    now_set = f"appendTopicForTimerDeleteKey={json.dumps(with_topic)}"
    with changed_settings(stage, now_set, "appendTopicForTimerDeleteKey=false"):
        asked = later(3000)
        for unique in ("U1", "U2"):
            text = properties(UNIQ_KEY=unique, TIMER_DELIVER_MS=str(asked))
            stage.must(send(unique.encode(), properties=text))
        for unique, key in (("D1", "U1"), ("D2", f"{stage.topic}+U2")):
            texts = {"UNIQ_KEY": unique, "TIMER_DEL_UNIQKEY": key, "TIMER_DELIVER_MS": str(asked)}
            show(stage, f"delete {unique}", send(b"0", properties=properties(**texts)))
        stage.must(timer(b"afterwards", TIMER_DELIVER_MS=asked + 1000))
        stage.record("messages", [one["body"] for one in arrived(stage, 2)])


def recall_elsewhere(stage: Stage) -> None:
    """A delete in another slot than its target's does nothing."""
    stage.must(create_topic())
    asked = later(3000)
    stage.must(timer(b"stays", TIMER_DELIVER_MS=asked))
    for at in (asked - 1000, asked + 1000):
        stage.must(timer(b"0", TIMER_DELIVER_MS=at, TIMER_DEL_UNIQKEY="U1"))
    stage.must(timer(b"afterwards", TIMER_DELIVER_MS=asked + 2000))
    stage.record("messages", [one["body"] for one in arrived(stage, 2)])


def recall_stored(stage: Stage) -> None:
    stage.must(create_topic())
    with changed_settings(stage, ENABLED, "recallMessageEnable=false"):
        end = int(stage.must(ask(30, {"topic": WHEEL, "queueId": 0})).ext["offset"])
        stage.must(recall(handle_of(stage)))
        there = pull(topic=WHEEL, queueOffset=end)
        reply = stage.until(there, lambda reply: reply.code == 0 and reply.body != b"")
        (one,) = as_records(reply.body)
        one["queueOffset"] = f"position {one['queueOffset']}"
        stage.record("record", one)
