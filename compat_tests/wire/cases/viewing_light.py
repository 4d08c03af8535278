"""VIEW_MESSAGE_BY_ID of messages in light queues, with the name of one as the topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat_tests.wire.asks import create_topic
from compat_tests.wire.case import Case
from compat_tests.wire.cases.light_queues import A, B, arrived, message
from compat_tests.wire.cases.viewing import view
from compat_tests.wire.stage import Stage

# With enableLmq and enableMultiDispatch.
SERVERS: Final = "lmq"


def cases() -> Iterator[Case]:
    yield Case("view with a topic: of a light queue", of_a_light_queue)
    yield Case("view with a topic: of a light queue, delayed", waiting)


def of_a_light_queue(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    sent = stage.must(message(b"x", f"{A},{B}"))
    arrived(stage, B, 1)
    view(stage, sent, A, B, "$T", "%LMQ%c-$T", "a-$T")


def waiting(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    sent = stage.must(message(b"x", A, DELAY="18"))
    view(stage, sent, A, B, "$T", "SCHEDULE_TOPIC_XXXX")
