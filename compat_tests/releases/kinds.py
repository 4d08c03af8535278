"""What a store may hold: how it is written, what is asked about it, and how it goes on.

The first ones are those of the recorded stores of the real broker; TriMQ alone has elastic topics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from compat_tests.store.recorded import everything, kinds
from compat_tests.store.recorded.asking import Asking, end_of, pull_at
from compat_tests.store.recorded.author import Author
from compat_tests.store.recorded.recipe import SMALL, TIMELESS, texts
from compat_tests.wire.asks import query_offset
from compat_tests.wire.cases import lite_topics as lite
from compat_tests.wire.records import Record, read_records
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import now
from tests.patience import until
from trimq.admin import BlockingAdminClient

LIGHT: Final = {"enableLmq": "true", "enableMultiDispatch": "true"}
LIGHTS: Final = "Lights"
LIGHT_QUEUES: Final = ("%LMQ%first", "%LMQ%second")
LIGHT_READERS: Final = "%LMQ%readers"
ELASTIC: Final = "Elastic"
FEW, MANY, PARTITIONS = 4, 6, 40
# Compaction has rewritten nothing for so long, several rounds of it.
QUIET_SECONDS: Final = 3.0


@dataclass(frozen=True)
class Kind:
    """`write` on an empty store; `ask` what must be answered as before; `go_on` with the number of the turn."""

    name: str
    settings: dict[str, str]
    write: Callable[[Author, str], None]
    ask: Callable[[Author, Asking], None]
    go_on: Callable[[Author, int], None]


# --- queues, batches, delays, transactions, retries, offsets, an index


def _go_on_with_everything(author: Author, turn: int) -> None:
    """Each queue goes on where it stopped; a half that was pending is decided; a group gets on."""
    for queue in range(4):
        _at_the_end(author, everything.ORDERS, queue, 900 + turn)
    _at_the_end(author, everything.AUDIT, 0, 920 + turn)
    half = author.kept.pop(str(802 + turn), None)
    if half is not None:
        author.end(everything.ORDERS, half)
        author.expect(everything.ORDERS, 2, 1)
    author.commit(everything.ORDERS, 0, 5 + turn)
    author.settle()


def _at_the_end(author: Author, topic: str, queue: int, number: int) -> None:
    expected = author.ends.get((topic, queue), 0)
    sent = author.send(topic, queue, b"goes on %d" % number, texts(number))
    assert int(sent.ext["queueOffset"]) == expected, f"queue {queue} of {topic}"


# --- batch queues and extensions of queues


def _go_on_with_kinds(author: Author, turn: int) -> None:
    outer = {"UNIQ_KEY": f"B{100 + turn}", "TAGS": "Tag1"}
    for queue in range(2):
        _at_the_end(author, kinds.EXTENDED, queue, 100 + turn)
        # An answer names one message of a batch, and its place is the first one's.
        expected = end_of(author.stage, kinds.BATCHES, queue)
        sent = author.send_batch(kinds.BATCHES, queue, kinds.items(100 + turn, 3), outer)
        assert int(sent.ext["queueOffset"]) == expected
        author.ends[kinds.BATCHES, queue] = expected + 3
    author.settle()


# --- compacted topics


def _write_compacted(author: Author, _: str) -> None:
    kinds.write_compacted(author)


def _go_on_with_compacted(author: Author, turn: int) -> None:
    """The key's message of before is taken out."""
    known = {"UNIQ_KEY": f"U{60 + turn:04d}", "KEYS": "key0", "TAGS": "Tag1"}
    author.send(kinds.TABLE, 0, b"goes on %d" % turn, known)
    author.settle()
    seen: list[list[int]] = [[]]

    def is_quiet() -> bool:
        time.sleep(QUIET_SECONDS)
        seen.append(kinds.contents(author))
        return seen[-1] == seen[-2] and seen[-1][-1:] == [60 + turn]

    until(is_quiet, "nothing more is rewritten")


# --- light queues and lite topics


def _write_light(author: Author, _: str) -> None:
    author.create(LIGHTS, 1)
    for number in range(30):
        names = ",".join(LIGHT_QUEUES[: 1 + number % 2])
        author.send(
            LIGHTS, 0, b"light %d" % number, {**texts(1 + number), "INNER_MULTI_DISPATCH": names}
        )
    author.settle()
    author.commit(LIGHT_QUEUES[0], 0, 7, LIGHT_READERS)
    stage = author.stage
    lite.filled(stage)
    stage.must(lite.subscribe("PARTIAL_ADD", "one"))
    lite.sent(stage, "a", "b", "c")
    first = stage.must(lite.pop())
    for at in range(2):
        stage.must(lite.ack(first, at))


def _ask_light(_: Author, asking: Asking) -> None:
    for name in (LIGHTS, *LIGHT_QUEUES, lite.lite_queue()):
        asking.queue(name, 0)
    asking.show(query_offset(topic=LIGHT_QUEUES[0], queueId=0, consumerGroup=LIGHT_READERS))
    asking.show(query_offset(topic=lite.lite_queue(), queueId=0, consumerGroup="$G"))


def _go_on_with_light(author: Author, turn: int) -> None:
    """What was acknowledged does not come again, what was not comes first."""
    stage = author.stage
    names = ",".join(LIGHT_QUEUES)
    author.send(LIGHTS, 0, b"goes on", {**texts(60 + turn), "INNER_MULTI_DISPATCH": names})
    author.settle()
    stage.must(lite.subscribe("PARTIAL_ADD", "one"))
    lite.sent(stage, f"later {turn}")
    expected = [b"c"] if turn == 0 else []
    expected.append(f"later {turn}".encode())
    reply = stage.must(lite.pop(maxMsgNum=8, pollTime=5000, bornTime=now()))
    came = read_records(reply.body)
    assert [record.body for record in came] == expected
    for record in came:
        stage.must(lite.ack(reply, record.queue_offset))


# --- elastic topics


def _write_elastic(author: Author, namesrv: str) -> None:
    """It has grown once; a group has read some of it."""
    addr = author.stage.place.broker
    with BlockingAdminClient(namesrv) as admin:
        admin.elastic_create(addr, ELASTIC, FEW)
        _send_to_all_partitions(author, 0)
        admin.elastic_scale(addr, ELASTIC, MANY, now=True)
        until(lambda: admin.elastic_view(addr, ELASTIC).changes, "it has grown")
    _send_to_all_partitions(author, 1)
    author.settle()


def _send_to_all_partitions(author: Author, round_: int) -> dict[int, int]:
    """Where each partition's message went."""
    queues = {}
    for number in range(PARTITIONS):
        sent = author.send(ELASTIC, number, b"%d %d" % (number, round_), texts(1 + number))
        queues[number] = int(sent.ext["queueId"])
    return queues


def _ask_elastic(_: Author, asking: Asking) -> None:
    for queue in range(MANY):
        asking.queue(ELASTIC, queue, searched=False)


def _go_on_with_elastic(author: Author, turn: int) -> None:
    """Each partition stays in its queue, where its last message is."""
    last = {}
    for queue in range(MANY):
        for record in read_all(author.stage, ELASTIC, queue):
            number, round_ = map(int, record.body.split())
            if round_ == 1 + turn:
                last[number] = queue
    assert len(last) == PARTITIONS
    assert _send_to_all_partitions(author, 2 + turn) == last
    author.settle()


def read_all(stage: Stage, topic: str, queue: int) -> list[Record]:
    found: list[Record] = []
    while len(found) < end_of(stage, topic, queue):
        found += read_records(stage.must(pull_at(topic, queue, len(found))).body)
    return found


KINDS: Final = (
    Kind(
        "everything",
        {**TIMELESS, **SMALL},
        lambda author, _: everything.write_everything(author, 120),
        everything.ask_everything,
        _go_on_with_everything,
    ),
    Kind(
        "kinds of queues",
        kinds.KINDS,
        lambda author, _: kinds.write_kinds(author),
        kinds.ask_kinds,
        _go_on_with_kinds,
    ),
    Kind(
        "compacted",
        kinds.COMPACTED,
        _write_compacted,
        kinds.ask_compacted,
        _go_on_with_compacted,
    ),
    Kind("light", {**TIMELESS, **LIGHT}, _write_light, _ask_light, _go_on_with_light),
    Kind("elastic", TIMELESS, _write_elastic, _ask_elastic, _go_on_with_elastic),
)
