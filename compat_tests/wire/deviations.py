"""Where TriMQ answers otherwise on purpose, and why. Everything else must be equal."""

from __future__ import annotations

from typing import Final

_SINGLE_QUOTES = (
    "fastjson2 reads texts in single quotes; they are no JSON and no client writes them"
)

_NULL_LIST = (
    "a list that is null counts as one that is absent; the real broker fails with a "
    "NullPointerException, no client sends it"
)

_EMPTY_BATCH_QUEUE = (
    "a queue of type BatchCQ that never had a message: the real broker fails with a "
    "NullPointerException, TriMQ answers as for any other empty queue"
)

_NO_TOPIC = (
    "a request without its topic is told that there is no such topic; the real broker fails with a "
    "NullPointerException"
)

DELIBERATE: Final[dict[str, str]] = {
    "heartbeat: consumers null": _NULL_LIST,
    "lock: queues null": _NULL_LIST,
    "send: reserved property TIMER_DELAY_SEC": (
        "the timer wheel is not there yet: every timer message is refused, also one that is due"
    ),
    "pull: SQL in the heartbeat that nobody can parse": (
        "SQL92 filters are not there yet: they are all refused alike, readable or not"
    ),
    "heartbeat: keys in single quotes": _SINGLE_QUOTES,
    "broker: header in single quotes": _SINGLE_QUOTES,
    "batch topic: LOWER of nothing": _EMPTY_BATCH_QUEUE,
    "batch topic: UPPER of nothing": _EMPTY_BATCH_QUEUE,
    "static parts: undecided": (
        "while a queue moves its end is that of the old part; the real broker asks the old part for the "
        "new part's queue"
    ),
    "lite topic: no field": _NO_TOPIC,
    "lite client: no field": _NO_TOPIC,
    "min offset: of messages (binary header)": (
        "TriMQ answers in the request's coding, and a binary header cannot tell the empty remark "
        "of this reply from none"
    ),
}
