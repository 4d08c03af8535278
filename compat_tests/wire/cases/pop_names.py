"""What POP writes down when a client does not name the broker that it acknowledges at."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.wire.asks import ask, body_of, create_topic, send
from compat_tests.wire.case import Case
from compat_tests.wire.popped import (
    BATCH_ACK,
    WHEEL_TOPIC,
    ack,
    change,
    ends,
    entry,
    handle_of,
    notes,
    pop,
    show,
)
from compat_tests.wire.stage import Stage

# Nothing comes off the wheel meanwhile.
HIDDEN = 30_000


def cases() -> Iterator[Case]:
    yield Case("pop: acknowledged without a broker's name", acknowledged)


def acknowledged(stage: Stage) -> None:
    since = ends(stage)
    stage.must(create_topic(queues=1))
    for number in range(4):
        stage.must(send(b"m%d" % number))
    popped = stage.must(pop(invisibleTime=HIDDEN))
    unnamed = body_of({"acks": [entry(popped, 0, 2)]})
    stage.show("batch ack", ask(BATCH_ACK, body=unnamed))
    stage.show("ack", ack(handle_of(popped, 1).replace("broker-a", ""), 1))
    show(stage, "change", change(handle_of(popped, 3).replace("broker-a", ""), 3))
    stage.record("on the wheel", notes(stage, since, WHEEL_TOPIC, 5))
