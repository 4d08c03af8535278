"""Held pulls: answered when a message lands or the client's time is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    PULL_COMMIT,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    changed,
    commit_offset,
    create_topic,
    properties,
    pull,
    query_offset,
    send,
    send_batch,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.records import batch_body
from compat_tests.wire.stage import Stage

HOLD: Final = PULL_SUBSCRIPTION | PULL_SUSPEND
LONG: Final = 15000
PULL_RETRY_IMMEDIATELY = 20


def held(**fields: object) -> Frame:
    return changed(pull(sysFlag=HOLD, suspendTimeoutMillis=LONG), **fields)


def cases() -> Iterator[Case]:
    yield from times_out()
    yield from answered_at_once()
    yield from woken()


def times_out() -> Iterator[Case]:
    there = [create_topic(), send()]
    for millis in (0, 1, 500, -5):
        request = held(queueOffset=1, suspendTimeoutMillis=millis)
        yield row(f"held pull: gives up after {millis} ms", request, before=there)
    request = held(
        queueOffset=1, sysFlag=HOLD | PULL_COMMIT, commitOffset=1, suspendTimeoutMillis=500
    )
    effects = [query_offset(setZeroIfNotFound=False)]
    yield row("held pull: commits and gives up", request, before=there, after=effects)
    yield row(
        "held pull: queue never written", held(suspendTimeoutMillis=500), before=[create_topic()]
    )


def answered_at_once() -> Iterator[Case]:
    there = [create_topic(), send()]
    yield row("held pull: a message is there", held(), before=there, reader=reading.as_records)
    yield row("held pull: beyond the end", held(queueOffset=2), before=there)
    yield row("held pull: before the beginning", held(queueOffset=-1), before=there)
    yield row("held pull: nothing matches", held(subscription="Nobody"), before=there)
    yield row("held pull: unknown topic", held())
    yield row("held pull: not to be held", pull(queueOffset=1), before=there)


def committed_meanwhile(stage: Stage) -> None:
    stage.must(create_topic())
    link = stage.link()
    opaque = link.post(stage.request(held(sysFlag=HOLD | PULL_COMMIT, commitOffset=3)))
    stage.record("answered before", link.has_reply(opaque, 0.3))
    stage.show("committed by the pull", query_offset(setZeroIfNotFound=False))
    stage.must(commit_offset(9), "broker-2")
    stage.must(send(), "broker-2")
    stage.record("answer", link.reply(opaque).code)
    stage.show("committed in the end", query_offset(setZeroIfNotFound=False))


def woken() -> Iterator[Case]:
    def by(name: str, *requests: Frame, **fields: object) -> Case:
        def play(stage: Stage) -> None:
            stage.must(create_topic())
            link = stage.link()
            opaque = link.post(stage.request(held(**fields)))
            stage.record("answered before", link.has_reply(opaque, 0.3))
            for frame in requests:
                stage.must(frame, "broker-2")
            reply = link.reply(opaque)
            # The real broker also looks every 5 s by itself; a client then just pulls on.
            while reply.code == PULL_RETRY_IMMEDIATELY:
                onward = changed(held(**fields), queueOffset=reply.ext["nextBeginOffset"])
                reply = stage.ask(onward)
            stage.record("answer", reading.reply(reply, reading.as_records))

        return Case(f"held pull: woken by {name}", play)

    yield by("a message", send())
    yield by("a batch of one", send_batch(batch_body([(b"item", {"UNIQ_KEY": "U1"})])))
    tagged = send(b"tagged", properties=properties(UNIQ_KEY="U1", TAGS="A"))
    other = send(b"other", properties=properties(UNIQ_KEY="U2", TAGS="B"))
    yield by("its tag", tagged, subscription="A")
    yield by("its tag, another one before", other, tagged, subscription="A")
    late = send(b"late", properties=properties(UNIQ_KEY="U1", DELAY="1"))
    yield by("a delayed message", late)

    def other_queue(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        opaque = link.post(stage.request(held(queueId=1)))
        stage.must(send(queueId=0), "broker-2")
        stage.record("woken by another queue", link.has_reply(opaque, 0.5))
        stage.must(send(queueId=1), "broker-2")
        stage.record("answer", link.reply(opaque).code)

    yield Case("held pull: another queue", other_queue)

    def several(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        opaques = [link.post(stage.request(held(consumerGroup=f"{n}-$G"))) for n in range(3)]
        stage.record("answered before", [link.has_reply(opaque, 0.1) for opaque in opaques])
        stage.must(send(), "broker-2")
        stage.record("answers", [link.reply(opaque).code for opaque in opaques])

    yield Case("held pull: three at once", several)
    yield Case("held pull: an offset is committed meanwhile", committed_meanwhile)

    def topic_deleted(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        opaque = link.post(stage.request(held(suspendTimeoutMillis=1000)))
        stage.must(ask(215, {"topic": "$T"}), "broker-2")
        reply = link.reply(opaque)
        stage.record("answer", reading.reply(reply, reading.as_json))

    yield Case("held pull: its topic is deleted", topic_deleted)

    def gone(stage: Stage) -> None:
        stage.must(create_topic())
        stage.link("broker-2").post(stage.request(held()))
        stage.link("broker-2").close()
        stage.show("a message after the puller has gone", send())
        stage.show("the message is there", pull(), reading.as_records)

    yield Case("held pull: the puller has gone", gone)
