"""CONSUMER_SEND_MSG_BACK, delayed sends and dead letters: what arrives where, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    ask,
    changed,
    create_group,
    create_topic,
    lock,
    properties,
    pull,
    send,
    send_back,
    send_v2,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage

RETRY: Final = "%RETRY%$G"
DEAD: Final = "%DLQ%$G"


def arrivals(stage: Stage, what: str, topic: str, at_least: int = 1) -> None:
    """What lies in queue 0 of a topic, once it has arrived."""
    request = pull(topic=topic, consumerGroup="reader-$G")

    def is_there(reply: Frame) -> bool:
        return len(reading.as_records(reply.body)) >= at_least

    reply = stage.until(request, is_there)
    stage.record(what, reading.reply(reply, reading.as_records))


def sent_position(stage: Stage, request: Frame | None = None) -> int:
    """A message of this case, by its position in the log."""
    stage.must(create_topic())
    reply = stage.must(request or send(properties=properties(UNIQ_KEY="U1", TAGS="A", k="v")))
    return int(reply.ext["msgId"][16:], 16)


def cases() -> Iterator[Case]:
    yield from backs()
    yield from refusals()
    yield from rounds()
    yield from delays()
    yield from direct()


def backs() -> Iterator[Case]:
    def back(name: str, arrives: str, **fields: object) -> Case:
        version = fields.pop("version", 513)

        def play(stage: Stage) -> None:
            request = send_back(sent_position(stage), **fields)
            request.version = int(str(version))
            stage.show("send back", request)
            arrivals(stage, "arrived", arrives)

        return Case(f"send back: {name}", play)

    yield back("level 0", RETRY)
    yield back("level 1", RETRY, delayLevel=1)
    yield back("level 5", RETRY, delayLevel=5)
    yield back("level above the highest", RETRY, delayLevel=99)
    yield back("level -1", DEAD, delayLevel=-1)
    yield back("no retry allowed", DEAD, maxReconsumeTimes=0)
    yield back("no retry allowed, asked by an old client", RETRY, maxReconsumeTimes=0, version=120)
    yield back("number of retries left out", RETRY, maxReconsumeTimes=None)
    yield back("number of retries -1", DEAD, maxReconsumeTimes=-1)
    yield back("without origin", RETRY, originMsgId=None, originTopic=None)
    yield back("another origin", RETRY, originMsgId="OTHER", originTopic="Other")
    yield back("in unit mode", RETRY, unitMode=True)
    yield back("level left out", RETRY, delayLevel=None)
    yield back("unit mode left out", RETRY, unitMode=None)
    yield back("level no number", RETRY, delayLevel="x")

    def on_fast_port(stage: Stage) -> None:
        stage.show("send back", send_back(sent_position(stage)), on="fast")

    yield Case("send back: on the fast port", on_fast_port)

    def topics(stage: Stage) -> None:
        stage.show("send back", send_back(sent_position(stage), delayLevel=-1))
        for topic in (RETRY, DEAD):
            stage.show(topic[:5], ask(351, {"topic": topic}))

    yield Case("send back: the topics it makes", topics)

    def three_queues(stage: Stage) -> None:
        stage.must(create_group(retryQueueNums=3))
        position = sent_position(stage)
        stage.show("send back", send_back(position))
        stage.show("retry topic", ask(351, {"topic": RETRY}))

    yield Case("send back: three retry queues", three_queues)


def refusals() -> Iterator[Case]:
    yield row("send back: nothing at that offset", send_back(1 << 40))
    yield row("send back: negative offset", send_back(-1))
    for name in send_back(0).ext:
        request = changed(send_back(1 << 40), **{name: None})
        yield row(f"send back: nothing there, {name} left out", request)
    yield row("send back: offset no number", changed(send_back(0), offset="x"))
    yield row("send back: no fields", ask(36))
    yield row("send back: illegal group", send_back(0, group="a.b"))
    yield row("send back: no retry queues", send_back(0), before=[create_group(retryQueueNums=0)])

    def read_only(stage: Stage) -> None:
        position = sent_position(stage)
        stage.must(create_topic(RETRY, queues=1, perm=4))
        stage.show("send back", send_back(position))

    yield Case("send back: retry topic read only", read_only)


def rounds() -> Iterator[Case]:
    """A message that fails again and again: what it carries in each round."""

    def play(stage: Stage) -> None:
        stage.must(create_group(retryMaxTimes=2))
        position = sent_position(stage)
        for number in (1, 2):
            stage.must(send_back(position, maxReconsumeTimes=None))
            arrivals(stage, f"round {number}", RETRY, at_least=number)
            reply = stage.must(pull(topic=RETRY, queueOffset=number - 1))
            where = reading.as_records(reply.body)[0]["physicalOffset"]
            position = int(where.split()[1])
        stage.must(send_back(position, maxReconsumeTimes=None))
        arrivals(stage, "given up", DEAD)

    yield Case("send back: until it is given up", play)

    def large(stage: Stage) -> None:
        position = sent_position(stage, send(b"x" * 5000, flag=7, sysFlag=1))
        stage.must(send_back(position))
        arrivals(stage, "arrived", RETRY)

    yield Case("send back: body, flags and times are kept", large)


def delays() -> Iterator[Case]:
    def delayed(name: str, request: Frame) -> Case:
        def play(stage: Stage) -> None:
            stage.must(create_topic())
            stage.show_shared("send", request)
            arrivals(stage, "arrived", "$T")

        return Case(f"delay: {name}", play)

    for level in ("1", "3", "18", "19", "99"):
        text = properties(UNIQ_KEY="U1", TAGS="A", WAIT="true", DELAY=level)
        yield delayed(f"level {level}", send(properties=text))
    yield delayed("level 1, one-letter names", send_v2(properties=properties(DELAY="1")))
    none = properties(UNIQ_KEY="U1", DELAY="0")
    yield delayed("level 0", send(properties=none))
    last = properties(UNIQ_KEY="U1", DELAY="1")
    yield delayed("level 1 with flags", send(b"x" * 5000, properties=last, flag=7, sysFlag=1))

    def other_queue(stage: Stage) -> None:
        stage.must(create_topic())
        stage.show_shared("send", send(queueId=2, properties=properties(UNIQ_KEY="U1", DELAY="1")))
        request = pull(queueId=2)
        reply = stage.until(request, lambda reply: bool(reply.body))
        stage.record("arrived", reading.reply(reply, reading.as_records))

    yield Case("delay: another queue", other_queue)

    def order(stage: Stage) -> None:
        stage.must(create_topic())
        for number in range(3):
            text = properties(UNIQ_KEY=f"U{number}", DELAY="1")
            stage.must(send(b"%d" % number, properties=text))
        arrivals(stage, "arrived", "$T", at_least=3)

    yield Case("delay: three of one level", order)


def direct() -> Iterator[Case]:
    """Clients whose send-back fails send to the retry topic themselves."""

    def to_retry(name: str, request: Frame, *setting: Frame, arrives: str = RETRY) -> Case:
        def play(stage: Stage) -> None:
            for frame in setting:
                stage.must(frame)
            show = stage.show_shared if "DELAY" in request.ext["properties"] else stage.show
            show("send", request)
            arrivals(stage, "arrived", arrives)

        return Case(f"retry by sending: {name}", play)

    again = send(topic=RETRY, reconsumeTimes=1, maxReconsumeTimes=3)
    yield to_retry("plain", again)
    later = properties(UNIQ_KEY="U1", RETRY_TOPIC="$T", DELAY="4", MAX_RECONSUME_TIMES="3")
    yield to_retry("delayed", changed(again, properties=later))
    yield to_retry("the last time", changed(again, reconsumeTimes=3))
    yield to_retry("once too often", changed(again, reconsumeTimes=4), arrives=DEAD)
    default = changed(again, reconsumeTimes=17, maxReconsumeTimes=None)
    yield to_retry("17 times, no maximum given", default, arrives=DEAD)
    yield to_retry("16 times, no maximum given", changed(default, reconsumeTimes=16))
    yield to_retry(
        "group's own maximum",
        changed(default, reconsumeTimes=3),
        create_group(retryMaxTimes=2),
        arrives=DEAD,
    )
    yield to_retry("while the group holds a lock", again, create_group(), lock(0), arrives=DEAD)
    old = changed(again, reconsumeTimes=4)
    old.version = 120
    yield to_retry("once too often, old client", old)
