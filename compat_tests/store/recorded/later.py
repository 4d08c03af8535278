"""What comes to consumers and producers of a store that was opened again: what its broker had left to be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from compat_tests.store.recorded.asking import Entry, pull_at
from compat_tests.store.recorded.author import GROUP, PRODUCER
from compat_tests.wire import reading
from compat_tests.wire.asks import heartbeat
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import NoReply
from compat_tests.wire.popped import pop
from compat_tests.wire.records import read_properties, read_records
from compat_tests.wire.stage import Stage
from tests.patience import PATIENCE

CHECK: Final = 39
# What came twice would be there by then.
QUIET_SECONDS: Final = 3.0
# Times and places of the run in which a message was delivered.
OF_DELIVERY: Final = frozenset(
    [
        *("TIMER_DEQUEUE_MS", "TIMER_ENQUEUE_MS", "TIMER_OUT_MS", "TIMER_DELIVER_MS"),
        *("POP_CK", "1ST_POP_TIME", "TRANSACTION_CHECK_TIMES"),
    ]
)


def seen(body: bytes) -> list[Any]:
    """A consumer's view of messages that were delivered in this run."""
    found = []
    for one in reading.as_records(body):
        kept = {key: one["properties"][key] for key in one["properties"].keys() - OF_DELIVERY}
        found.append(
            [one["body"], one["queueId"], one["reconsumeTimes"], dict(sorted(kept.items()))]
        )
    return found


def pulled(stage: Stage, entry: Entry) -> list[Any]:
    """All of a queue, at the moment."""
    reply = stage.ask(pull_at(entry["topic"], entry["queue"], 0))
    return seen(reply.body) if reply.code == 0 else []


def popping(topic: str, invisible_millis: int, poll_millis: int = 0) -> Frame:
    return pop(
        consumerGroup=GROUP,
        topic=topic,
        invisibleTime=invisible_millis,
        pollTime=poll_millis,
        bornTime=int(time.time() * 1000),
    )


def popped(stage: Stage, entry: Entry) -> list[Any]:
    """What is handed out now; it is nobody else's for a while."""
    reply = stage.ask(popping(entry["topic"], 600_000, 500))
    return seen(reply.body) if reply.code == 0 else []


def asked(stage: Stage, entry: Entry) -> list[Any]:
    """The half messages that a producer is asked about: each once, however often it is asked."""
    stage.must(heartbeat(client="producer", producers=(PRODUCER,)), "broker-2")
    try:
        frame = stage.link("broker-2").pushed(0.5)
    except NoReply:
        return []
    assert frame.code == CHECK
    (record,) = read_records(frame.body)
    key = read_properties(record.properties)["UNIQ_KEY"]
    known = entry.setdefault("known", set())
    return [] if key in known else (known.add(key) or [key])


# Of those that do not see what they saw before, and of those that see all of it each time.
ONCE: Final[dict[str, Callable[[Stage, Entry], list[Any]]]] = {"popped": popped, "asked": asked}
WHOLE: Final = {"pulled": pulled}


class _Arrival:
    """What has come so far."""

    def __init__(self, stage: Stage, entry: Entry, count: int) -> None:
        self._stage = stage
        self._entry = dict(entry)
        self._count = count
        self.found: list[Any] = []

    def look(self) -> bool:
        """Whether so much is there now."""
        how = self._entry["how"]
        if how in ONCE:
            self.found += ONCE[how](self._stage, self._entry)
        else:
            self.found = WHOLE[how](self._stage, self._entry)
        return len(self.found) >= self._count


def arrived(stage: Stage, expected: list[tuple[Entry, int]]) -> list[list[Any]]:
    """For each, what has come when so much is there, and what comes in a while after it; without an order."""
    waiting = [_Arrival(stage, entry, count) for entry, count in expected]
    deadline = time.monotonic() + PATIENCE
    while not all([one.look() for one in waiting]) and time.monotonic() < deadline:
        time.sleep(0.1)
    if waiting:
        time.sleep(QUIET_SECONDS)
    for one in waiting:
        one.look()
    return [sorted(one.found, key=repr) for one in waiting]
