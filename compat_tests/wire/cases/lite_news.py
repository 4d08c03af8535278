"""News of lite topics: who is told of them, who has lost a lite topic to another reader, and resets.

Played on brokers with enableLmq=true and enableMultiDispatch=true.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from compat_tests.wire.asks import ask
from compat_tests.wire.case import Case
from compat_tests.wire.cases.lite_topics import (
    DISPATCH,
    QUEUE,
    ack,
    client,
    filled,
    pop,
    popped,
    sent,
    show,
    subscribe,
    told,
)
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import now

# With enableLmq and enableMultiDispatch.
SERVERS: Final = "lmq"
NOTIFICATION, RESET = 200054, 222
# The real broker notes an arrival for a client in the background.
NOTED: Final = 0.5


def cases() -> Iterator[Case]:
    yield Case("lite news: a client asks for its own", asked)
    yield Case("lite news: a client waits for them", waited)
    yield Case("lite news: nothing comes in time", too_late)
    yield Case("lite news: the reader before the last one", evicted)
    yield Case("lite news: the reader before the last one takes it back", taken_back)
    for to in (0, 1):
        yield Case(f"lite news: a reset to {to}", partial(reset, to=to))


def notification(**fields: object) -> Frame:
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": -1,
        "pollTime": 0,
        "bornTime": now(),
        "isLiteConsumer": "true",
        "clientId": "$C",
    }
    return ask(NOTIFICATION, {**usual, **fields})


def reading(stage: Stage, name: str = "$C", **attributes: str) -> None:
    """A client reads a lite topic, in which nothing is yet."""
    filled(stage, **attributes)
    stage.must(subscribe("PARTIAL_ADD", "one", client=name))


def noted(stage: Stage, *texts: str) -> None:
    sent(stage, *texts)
    time.sleep(NOTED)


def asked(stage: Stage) -> None:
    reading(stage)
    stage.show("nothing", notification())
    noted(stage, "a")
    stage.show("news", notification())
    stage.show("they stay", notification())
    stage.show("of another client", notification(clientId="other-$C"))
    stage.show("of the topic itself", notification(isLiteConsumer=None))
    stage.show("in capitals", notification(isLiteConsumer="TRUE"))
    stage.show("not quite", notification(isLiteConsumer="yes"))
    stage.show("of nobody", notification(clientId=None))
    stage.show("of another queue", notification(queueId=1000))
    first = show(stage, "pop", pop())
    stage.show("nothing left", notification())
    stage.show("acknowledged", ack(first, 0))


def waited(stage: Stage) -> None:
    reading(stage)
    question = stage.request(notification(pollTime=4000))
    opaque = stage.link("broker-2").post(question)
    time.sleep(NOTED)
    sent(stage, "a")
    answer = stage.link("broker-2").reply(opaque)
    stage.record("told", {"code": answer.code, "ext": answer.ext})


def too_late(stage: Stage) -> None:
    reading(stage)
    stage.show("told", notification(pollTime=500))


def evicted(stage: Stage) -> None:
    reading(stage, "first-$C", **{"lite.sub.model": "Exclusive"})
    stage.must(subscribe("PARTIAL_ADD", "one", client="second-$C"), "broker-2")
    told(stage, "the first is told", "broker")
    stage.show("all it reads", subscribe("COMPLETE_ADD", "one", client="first-$C"))
    told(stage, "the first is told again", "broker")
    client(stage, "first client", "first-$C")
    client(stage, "second client", "second-$C")
    noted(stage, "a")
    show(stage, "nothing for the first", pop("first-$C"))
    stage.show("without it", subscribe("COMPLETE_ADD", "two", client="first-$C"))
    told(stage, "the first knows", "broker")
    stage.show("the second leaves", subscribe("COMPLETE_REMOVE", client="second-$C"), on="broker-2")
    stage.show("the first comes back", subscribe("COMPLETE_ADD", "one", client="first-$C"))
    told(stage, "nothing to tell", "broker")
    show(stage, "the first again", pop("first-$C"))


def taken_back(stage: Stage) -> None:
    reading(stage, "first-$C", **{"lite.sub.model": "Exclusive"})
    stage.must(subscribe("PARTIAL_ADD", "one", client="second-$C"), "broker-2")
    told(stage, "the first is told", "broker")
    stage.show("the first asks for it", subscribe("PARTIAL_ADD", "one", client="first-$C"))
    told(stage, "the second is told", "broker-2")
    noted(stage, "a")
    show(stage, "nothing for the second", pop("second-$C"))
    show(stage, "the first", pop("first-$C"))


def reset(stage: Stage, to: int) -> None:
    first = popped(stage, "a", "b")
    stage.show("ack of 0", ack(first, 0))
    moved = {"topic": QUEUE, "group": "$G", "queueId": 0, "timestamp": 0, "offset": to}
    stage.show("reset", ask(RESET, {**moved, "isForce": "true"}))
    stage.show("looked at", ask(DISPATCH, {"group": "$G", "clientId": "$C"}))
    show(stage, "from there", pop())
    show(stage, "once", pop())
