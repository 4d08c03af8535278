"""What cases of timer messages and of recalls have in common."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from compat_tests.wire import reading, records
from compat_tests.wire.asks import ask, create_topic, properties, pull, send
from compat_tests.wire.case import Case
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json, as_records
from compat_tests.wire.stage import Stage

UPDATE, METRICS = 25, 61
HOUR: Final = 3_600_000


def timer(body: bytes = b"later", **more: object) -> Frame:
    texts = {key: str(value) for key, value in more.items()}
    return send(body, properties=properties(UNIQ_KEY="U1", **texts))


def now() -> int:
    return time.time_ns() // 1_000_000


def later(millis: int, rest: int = 300) -> int:
    """A time that far ahead, so many milliseconds into its second."""
    return (now() + millis) // 1000 * 1000 + rest


def read_handle(reply: Frame) -> str:
    return base64.urlsafe_b64decode(reply.ext["recallHandle"]).decode()


def show(stage: Stage, what: str, frame: Frame) -> Frame:
    """Record the reply to a send; the wheel's queue is everybody's, and a handle has names in it."""
    reply = stage.ask(frame)
    seen = reading.reply(reply, as_json)
    if "recallHandle" in seen["ext"]:
        seen["ext"]["recallHandle"] = read_handle(reply)
    if "queueOffset" in seen["ext"]:
        seen["ext"]["queueOffset"] = f"position {seen['ext']['queueOffset']}"
    stage.record(what, seen)
    return reply


def shown(name: str, frame: Frame, **more: Any) -> Case:
    """A row whose reply may have a handle."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        show(stage, "reply", frame)

    return Case(name, play, **more)


def arrived(stage: Stage, count: int) -> list[dict[str, Any]]:
    """The first messages of the topic's queue, once so many are there."""
    question = pull()

    def there(reply: Frame) -> bool:
        return reply.code == 0 and len(records.read_records(reply.body)) >= count

    return as_records(stage.until(question, there).body)


@contextmanager
def changed_settings(stage: Stage, text: str, back: str) -> Iterator[None]:
    stage.must(ask(UPDATE, body=text.encode() + b"\n"))
    try:
        yield
    finally:
        stage.must(ask(UPDATE, body=back.encode() + b"\n"))


def counted(stage: Stage, count: int) -> dict[str, Any]:
    """What GET_TIMER_METRICS says of this case's topic, once it has that count."""

    def mine(reply: Frame) -> dict[str, Any]:
        table = as_json(reply.body)["value"]["timingCount"]
        found: dict[str, Any] = table.get(stage.topic, {"count": 0})
        return found

    return mine(stage.until(ask(METRICS), lambda reply: mine(reply)["count"] == count))
