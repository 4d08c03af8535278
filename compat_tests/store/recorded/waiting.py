"""Stores whose broker had something left to do: messages that are due, that nobody acknowledged or decided about."""

from __future__ import annotations

import time
from typing import Final

from compat_tests.store.recorded.asking import Asking
from compat_tests.store.recorded.author import GROUP, Author
from compat_tests.store.recorded.later import popping
from compat_tests.store.recorded.recipe import TIMELESS, Recipe, texts
from compat_tests.wire.asks import ask, create_group, query_offset
from compat_tests.wire.records import read_records

ACK: Final = 200051
LATER: Final = "Later"
JOBS: Final = "Jobs"
PENDING: Final = "Decided"
# Longer than it takes to write the rest and to stop the broker.
DUE_SECONDS: Final = 45
WAITING: Final = {
    **TIMELESS,
    "messageDelayLevel": f"1s {DUE_SECONDS}s 3650d",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "1000",
}


def write_waiting(author: Author) -> None:
    for topic in (LATER, JOBS, PENDING):
        author.create(topic, 1)
    author.stage.must(create_group(GROUP))
    due = int(time.time() * 1000)
    for number in range(3):
        author.half(PENDING, 0, b"half %d" % number, texts(1 + number))
    author.send_later(LATER, 0, b"a level, delivered", {**texts(10), "DELAY": "1"})
    author.send_later(LATER, 0, b"a level, due", {**texts(11), "DELAY": "2"})
    author.send_later(LATER, 0, b"a level, in ten years", {**texts(12), "DELAY": "3"})
    put_on_the_wheel(author, due)
    hand_out(author)
    author.expect(LATER, 0, 2)
    author.settle()
    author.commit(LATER, 0, 1)


def put_on_the_wheel(author: Author, now: int) -> None:
    """One that is delivered, some that are due later, and one that is taken back."""
    times = {20: 1500, **{20 + at: (DUE_SECONDS + at) * 1000 for at in range(1, 5)}}
    for number, delay in times.items():
        known = {**texts(number), "TIMER_DELIVER_MS": str(now + delay)}
        author.send_later(LATER, 0, b"a timer of %d" % number, known)
    recall = {**texts(30), "TIMER_DELIVER_MS": str(now + times[24])}
    author.send_later(LATER, 0, b"taken back", {**recall, "TIMER_DEL_UNIQKEY": "U0024"})


def hand_out(author: Author) -> None:
    """Four messages; one is acknowledged."""
    for number in range(4):
        author.send(JOBS, 0, b"job %d" % number, texts(40 + number))
    author.settle()
    reply = author.stage.must(popping(JOBS, DUE_SECONDS * 1000))
    assert len(read_records(reply.body)) == 4
    ext = reply.ext
    handle = f"0 {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} 0 broker-a 0 1"
    fields = {"consumerGroup": GROUP, "topic": JOBS, "queueId": 0, "offset": 1}
    author.stage.must(ask(ACK, {**fields, "extraInfo": handle}))


def ask_waiting(_: Author, asking: Asking) -> None:
    asking.show(query_offset(topic=LATER, queueId=0, consumerGroup=GROUP))


ARRIVALS: Final = (
    ({"how": "asked"}, 3),
    ({"how": "pulled", "topic": LATER, "queue": 0}, 6),
    ({"how": "popped", "topic": JOBS}, 3),
)
STORES: Final = (
    Recipe("waiting", WAITING, write_waiting, ask_waiting, arrivals=ARRIVALS),
    Recipe("waiting, killed", WAITING, write_waiting, ask_waiting, arrivals=ARRIVALS, kill=True),
)
