"""POP's times: from a send to the answer of the pop that waits for it, and how late put-backs come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from bench.loads.filling import QUEUES, create_topics
from bench.pages import verdicts
from bench.run import Run
from bench.servers.subjects import Subject
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.pop import PopMessageRequestHeader, PopMessageResponseHeader
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.records.record import Record, parse_record, peek
from trimq.remoting.clients.blocking import BlockingClient

HELD_TOPIC: Final = "BenchPopHeld"
BACK_TOPIC: Final = "BenchPopBack"
GROUP: Final = "bench_pop_times"
WAITING: Final = 8
APART_SECONDS: Final = 0.01
COUNT: Final = 2000
POPPED: Final = 20_000
BATCH: Final = 32
HIDDEN_MILLIS: Final = 5_000
POLL_MILLIS: Final = 10_000
# How long is waited for the last of them.
PATIENCE_SECONDS: Final = 60
HELD_P50: Final = "p50 from a send to the waiting pop's answer, ms"
HELD: Final = "p99 from a send to the waiting pop's answer, ms"
BACK_P50: Final = "p50 of a put-back after its time, ms"
BACK: Final = "p99 of a put-back after its time, ms"
# Never below zero.
EARLIEST: Final = "the earliest put-back after its time, ms"


def measure(run: Run) -> str:
    """The table, and whether TriMQ is no later."""
    held, popped = (100, 500) if run.smoke else (COUNT, POPPED)
    with run.fleet() as fleet:
        fleet.start()
        for number, kind in run.turns():
            with fleet.turn(kind) as server:
                # The first ones warm both.
                times = sorted(_held(server, number, held)[held // 10 :])
                late = _put_back(server, number, popped)
            for name, value in (
                (HELD_P50, _quantile(times, 0.5)),
                (HELD, _quantile(times, 0.99)),
                (BACK_P50, _quantile(late, 0.5)),
                (BACK, _quantile(late, 0.99)),
                (EARLIEST, min(late)),
            ):
                run.figures.add(name, kind, value)
    said = [verdicts.of_lateness(run.figures, name) for name in (HELD, BACK)]
    return (
        f"{WAITING} connections wait with a pop for one message each, while another one sends {COUNT:,}, one each "
        f"{APART_SECONDS * 1000:g} ms; the first tenth is left out. Put-backs: {POPPED:,} messages are popped with "
        f"{HIDDEN_MILLIS // 1000} s to be acknowledged in and are not; what counts is from the end of that time to the "
        f"answer of the pop that brings one again. Times are those of one Python client.\n\n{run.figures.table()}\n\n"
        + "\n".join(line for line in said if line)
    )


def _held(server: Subject, number: int, count: int) -> list[float]:
    """Milliseconds from each send to the answer of the pop that waited."""
    topic = f"{HELD_TOPIC}{number}"
    create_topics(server.broker_addr, [topic], QUEUES)
    sent: dict[bytes, int] = {}
    found: list[float] = []
    over = threading.Event()

    def wait() -> None:
        with BlockingClient(server.broker_addr, timeout=60) as client:
            while not over.is_set():
                _, records = _pop(client, topic, 1, poll=1000)
                now = time.monotonic_ns()
                found.extend((now - sent[record.body]) / 1e6 for record in records)

    with ThreadPoolExecutor(WAITING) as pool, BlockingClient(server.broker_addr) as client:
        waits = [pool.submit(wait) for _ in range(WAITING)]
        time.sleep(1)
        for at in range(count):
            body = b"%d" % at
            sent[body] = time.monotonic_ns()
            _send(client, topic, at % QUEUES, body)
            time.sleep(APART_SECONDS)
        end = time.monotonic() + PATIENCE_SECONDS
        while len(found) < count and time.monotonic() < end:
            time.sleep(0.05)
        over.set()
        for one in waits:
            one.result()
    if len(found) != count:
        raise RuntimeError(f"{len(found)} of {count} were popped")
    return found


def _put_back(server: Subject, number: int, count: int) -> list[float]:
    """Milliseconds from the end of each message's invisible time to the answer that brings it again, sorted."""
    topic = f"{BACK_TOPIC}{number}"
    create_topics(server.broker_addr, [topic], QUEUES)
    due: dict[bytes, int] = {}
    late: list[float] = []
    with ExitStack() as stack:
        client = stack.enter_context(BlockingClient(server.broker_addr, timeout=60))
        for at in range(count):
            _send(client, topic, at % QUEUES, b"%d" % at)
        while len(due) < count:
            header, records = _pop(client, topic, BATCH, hidden=HIDDEN_MILLIS)
            due |= dict.fromkeys(_bodies(records), header.pop_time + header.invisible_time)
        end = time.monotonic() + PATIENCE_SECONDS
        while due and time.monotonic() < end:
            _, records = _pop(client, topic, BATCH)
            now = time.time_ns() / 1e6
            late += [now - due.pop(body) for body in _bodies(records) if body in due]
    if due:
        raise RuntimeError(f"{len(due)} of {count} did not come again")
    return sorted(late)


def _send(client: BlockingClient, topic: str, queue: int, body: bytes) -> None:
    header = SendMessageRequestHeaderV2(
        producer_group="bench",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=QUEUES,
        queue_id=queue,
        sys_flag=0,
        born_timestamp=time.time_ns() // 1_000_000,
        flag=0,
    )
    answer = client.request(RequestCode.SEND_MESSAGE_V2, header, body)
    if answer.code != ResponseCode.SUCCESS:
        raise RuntimeError(f"not sent: {answer.code} {answer.remark}")


def _pop(
    client: BlockingClient, topic: str, count: int, poll: int = POLL_MILLIS, hidden: int = 600_000
) -> tuple[PopMessageResponseHeader, list[Record]]:
    header = PopMessageRequestHeader(
        consumer_group=GROUP,
        topic=topic,
        queue_id=-1,
        max_msg_nums=count,
        invisible_time=hidden,
        poll_time=poll,
        born_time=time.time_ns() // 1_000_000,
        init_mode=0,
        exp_type="TAG",
        exp="*",
    )
    answer = client.request(RequestCode.POP_MESSAGE, header)
    found = decode_header(PopMessageResponseHeader, answer.ext_fields)
    if answer.code == ResponseCode.SUCCESS:
        return found, list(_records(answer.body))
    if answer.code not in (ResponseCode.POLLING_TIMEOUT, ResponseCode.PULL_NOT_FOUND):
        raise RuntimeError(f"not popped: {answer.code} {answer.remark}")
    return found, []


def _records(body: bytes) -> Iterator[Record]:
    at = 0
    while at < len(body):
        yield parse_record(body, at)
        at += peek(body, at)[0]


def _bodies(records: list[Record]) -> list[bytes]:
    return [bytes(record.body) for record in records]


def _quantile(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(len(times) * share))]
