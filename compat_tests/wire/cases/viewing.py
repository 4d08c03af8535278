"""VIEW_MESSAGE_BY_ID with a topic beside the offset, which RocketMQ looks at since 5.5.1."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.wire.asks import ask, create_topic, properties, send
from compat_tests.wire.case import Case
from compat_tests.wire.cases.transactions import half
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import HOUR, later, timer

VIEW = 33


def cases() -> Iterator[Case]:
    yield Case("view with a topic: a plain message", plain)
    yield Case("view with a topic: in light queues by its properties only", named_only)
    yield Case("view with a topic: a delayed message", delayed)
    yield Case("view with a topic: a timer message", timed)
    yield Case("view with a topic: a half message", half_message)
    yield Case("view with a topic: nothing there", nothing_there)


def place_of(sent: Frame) -> int:
    return int(sent.ext["msgId"][-16:], 16)


def view(stage: Stage, sent: Frame, *topics: str) -> None:
    for topic in topics:
        reply = stage.ask(ask(VIEW, {"offset": place_of(sent), "topic": topic}))
        name = stage.fill(topic).replace(stage.topic, "the topic")
        stage.record(f"as one of {name!r}", [reply.code, reply.remark, len(reply.body) > 0])


def plain(stage: Stage) -> None:
    stage.must(create_topic())
    sent = stage.must(send(properties=properties(UNIQ_KEY="U1", REAL_TOPIC="Other")))
    view(stage, sent, "$T", "Other", "", " ", " $T", "$T ", "t" * 300, "%RETRY%$T", "\u3000")


def named_only(stage: Stage) -> None:
    """This broker has no light queues: only the name in the record counts."""
    stage.must(create_topic())
    names = properties(UNIQ_KEY="U1", INNER_MULTI_DISPATCH="%LMQ%a,%LMQ%b,c")
    sent = stage.must(send(properties=names))
    view(stage, sent, "%LMQ%a", "%LMQ%b", "%LMQ%", "c", "%LMQ%a,%LMQ%b", "$T")


def delayed(stage: Stage) -> None:
    stage.must(create_topic())
    sent = stage.must(send(properties=properties(UNIQ_KEY="U1", DELAY="18")))
    view(stage, sent, "$T", "SCHEDULE_TOPIC_XXXX", "Other", "")


def timed(stage: Stage) -> None:
    stage.must(create_topic())
    sent = stage.must(timer(TIMER_DELIVER_MS=later(HOUR)))
    view(stage, sent, "$T", "rmq_sys_wheel_timer", "Other")


def half_message(stage: Stage) -> None:
    stage.must(create_topic())
    sent = stage.must(half())
    view(stage, sent, "$T", "RMQ_SYS_TRANS_HALF_TOPIC", "Other")


def nothing_there(stage: Stage) -> None:
    for topic in ("$T", " "):
        stage.show(f"as one of {topic!r}", ask(VIEW, {"offset": 1 << 40, "topic": topic}))
