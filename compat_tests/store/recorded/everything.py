"""Stores with whatever most brokers have: queues, batches, delays, transactions, retries, offsets, an index."""

from __future__ import annotations

import zlib
from typing import Final

import zstandard

from compat_tests.store.recorded.asking import Asking, pull_at
from compat_tests.store.recorded.author import GROUP, Author, end_of_half, sending
from compat_tests.store.recorded.recipe import SMALL, TIMELESS, Recipe, texts
from compat_tests.wire.asks import ask, create_group, query_offset, queue_question
from compat_tests.wire.cases.transactions import ROLLBACK
from compat_tests.wire.records import batch_body
from trimq.codec.flags import SysFlag

ORDERS: Final = "Orders"
AUDIT: Final = "Audit"
AUDITORS: Final = "Auditors"
RETRY: Final = f"%RETRY%{GROUP}"
SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
HALVES: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TOPIC_CONFIG: Final = 351
PROXIED: Final = b"PROXY TCP6 2001:db8::1 2001:db8::2 7 10911\r\n"


def write_plain(author: Author, count: int) -> None:
    for number in range(count):
        body = f"body of {number} ".encode() * (1 + 3 * (number % 9))
        author.send(ORDERS, number % 4, body, texts(number), flag=number)
    for number in range(count // 10):
        author.send(AUDIT, 1, b"audit %d" % number, {"UNIQ_KEY": f"A{number:04d}"})


def write_odd(author: Author) -> None:
    """Batches, packed bodies, bodies that are no text, large ones, what came through a proxy."""
    for number in range(4):
        items = [(b"item %d" % at, texts(500 + number * 10 + at)) for at in range(number + 1)]
        author.send_batch(ORDERS, number, batch_body(items), {"UNIQ_KEY": f"B{number:04d}"})
    text = b"a body that was packed by its producer " * 40
    zipped = SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZLIB
    author.send(ORDERS, 0, zlib.compress(text), texts(601), sysFlag=zipped)
    packed = SysFlag.COMPRESSED | SysFlag.COMPRESSION_ZSTD
    body = zstandard.ZstdCompressor().compress(text)
    author.send(ORDERS, 1, body, texts(602), sysFlag=packed)
    author.send(ORDERS, 2, bytes(range(128, 256)), texts(603))
    author.send(ORDERS, 3, b"large " * 2000, texts(604))
    author.stage.open("broker-6", PROXIED)
    for number in range(610, 614):
        author.send(ORDERS, number % 4, b"from afar", texts(number), on="broker-6")


def write_delays(author: Author) -> None:
    """Of each kind one that was delivered; two that are due in ten years."""
    author.send_later(ORDERS, 0, b"delayed, delivered", {**texts(700), "DELAY": "1"})
    author.expect(ORDERS, 0, 1)
    for number in (701, 702):
        author.send_later(ORDERS, 1, b"delayed, pending", {**texts(number), "DELAY": "2"})
    failed = author.send(ORDERS, 2, b"not taken by its consumer", texts(703))
    author.settle()
    author.send_back(ORDERS, failed, 1)
    author.expect(RETRY, 0, 1)
    author.queues[RETRY] = 1


def write_halves(author: Author) -> None:
    """One committed, one rolled back, two without a decision."""
    committed = author.half(ORDERS, 3, b"committed", texts(800))
    author.end(ORDERS, committed)
    author.expect(ORDERS, 3, 1)
    author.end(ORDERS, author.half(ORDERS, 3, b"rolled back", texts(801)), ROLLBACK)
    for number in (802, 803):
        author.kept[str(number)] = author.half(ORDERS, 2, b"not decided", texts(number))


def write_offsets(author: Author) -> None:
    for queue_id in range(3):
        author.commit(ORDERS, queue_id, 3 + queue_id)
    author.commit(AUDIT, 1, 2, AUDITORS)


def write_everything(author: Author, count: int) -> None:
    author.create(ORDERS, 4)
    author.create(AUDIT, 2)
    for group in (GROUP, AUDITORS):
        author.stage.must(create_group(group))
    write_plain(author, count)
    write_odd(author)
    write_delays(author)
    write_halves(author)
    write_offsets(author)
    author.settle()


def ask_everything(author: Author, asking: Asking) -> None:
    for topic, queues in author.queues.items():
        asking.show(ask(TOPIC_CONFIG, {"topic": topic}))
        for queue_id in range(queues):
            asking.queue(topic, queue_id)
    for queue_id in range(2):
        asking.queue(SCHEDULE, queue_id, searched=False)
    asking.queue(HALVES, 0, searched=False)
    for topic, queue_id, group in [
        *((ORDERS, queue_id, GROUP) for queue_id in range(4)),
        (AUDIT, 1, AUDITORS),
    ]:
        asking.show(query_offset(topic=topic, queueId=queue_id, consumerGroup=group))
    for key in ("k7", "k12", "tens2", "k530", "k604", "none"):
        asking.key(ORDERS, key)
    for key in ("U0003", "U0521", "U0612", "U0800"):
        asking.key(ORDERS, key, "U")
    asking.key(ORDERS, "Tag2", "T")
    for number in (0, 1, 7):
        asking.place(author.places[number])
    asking.place(author.places[1] + 1)


def go_on_with_everything(author: Author, asking: Asking) -> None:
    """Appended where the log and each queue ended; what was not decided is, now."""
    for queue_id in range(4):
        asking.show(sending(ORDERS, queue_id, b"goes on %d" % queue_id, texts(900)), "sent")
    asking.show(sending(AUDIT, 0, b"goes on", texts(901)), "sent")
    asking.show(end_of_half(ORDERS, author.kept["802"]))
    author.wait_for(ORDERS, 2, 2)
    for queue_id in range(4):
        end = author.ends[ORDERS, queue_id]
        asking.show(pull_at(ORDERS, queue_id, end), "timeless")
        asking.show(queue_question(30, topic=ORDERS, queueId=queue_id))
    asking.key(ORDERS, "k900", reader="found")


def write_afar(author: Author) -> None:
    author.create(ORDERS, 2)
    for number in range(8):
        author.send(ORDERS, number % 2, b"from afar %d" % number, texts(number))
    author.send_batch(ORDERS, 0, batch_body([(b"item", texts(20)), (b"other", texts(21))]), {})
    author.half(ORDERS, 0, b"not decided", texts(30))
    author.settle()


def ask_afar(author: Author, asking: Asking) -> None:
    for queue_id in range(2):
        asking.queue(ORDERS, queue_id)
    asking.queue(HALVES, 0, searched=False)
    asking.key(ORDERS, "k6")
    asking.place(author.places[3])


def go_on_from_here(author: Author, asking: Asking) -> None:
    """With addresses of IPv4, behind them."""
    for queue_id in range(2):
        asking.show(sending(ORDERS, queue_id, b"from here", texts(40)), "sent")
        author.wait_for(ORDERS, queue_id, 1)
        end = author.ends[ORDERS, queue_id]
        asking.show(pull_at(ORDERS, queue_id, end), "timeless")


STORES: Final = (
    Recipe(
        "defaults",
        TIMELESS,
        lambda author: write_everything(author, 40),
        ask_everything,
        go_on_with_everything,
    ),
    Recipe(
        "small files, killed",
        {**TIMELESS, **SMALL},
        lambda author: write_everything(author, 120),
        ask_everything,
        go_on_with_everything,
        kill=True,
    ),
    Recipe("addresses of IPv6", TIMELESS, write_afar, ask_afar, go_on_from_here, ipv6=True),
)
