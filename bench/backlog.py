"""The official benchmark Consumer on a backlog, hot and cold, on both brokers.

A topic is filled with batches; hot, it is read as it lies in the page cache; cold, the broker is started
anew and the kernel is asked to forget the store's pages first. The Consumer prints averages over ten
seconds, so it is the later lines that count, and the backlog has to last longer than it runs.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import time
from pathlib import Path

from bench import clients
from bench.part import Run
from bench.report import Figures
from bench.subjects import make, store_of
from compat_tests import artifacts
from trimq.codec.batch import BatchItem, join_batch
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.remoting.blocking import BlockingClient

_TOPIC = "BenchBacklog"
_MESSAGES = 5_000_000
_SIZE = 128
_CONSUMER_SECONDS = 19
_QUEUES = 4
_BATCH = 100
_CONSUMER = "org.apache.rocketmq.example.benchmark.Consumer"
_LINE = re.compile(r"Consume TPS: (\d+)")
_SOME = re.compile(r"Consume TPS: [1-9]")
# The first line averages over the client's own start.
_WARM_UP_LINES = 3


def fill(broker_addr: str, topic: str, count: int, size: int) -> None:
    """So many messages of that body size, over all queues, in batches."""
    body = join_batch([BatchItem(0, b"x" * size, b"TAGS\1TagA\2")] * _BATCH)
    with BlockingClient(broker_addr, timeout=30) as client:
        for number in range(count // _BATCH):
            header = SendMessageRequestHeaderV2(
                producer_group="bench",
                topic=topic,
                default_topic="TBW102",
                default_topic_queue_nums=_QUEUES,
                queue_id=number % _QUEUES,
                sys_flag=0,
                born_timestamp=time.time_ns() // 1_000_000,
                flag=0,
                batch=True,
            )
            answer = client.request(RequestCode.SEND_BATCH_MESSAGE, header, body)
            if answer.code != ResponseCode.SUCCESS:
                raise RuntimeError(f"filling failed: {answer.code} {answer.remark}")


def consume(namesrv: str, group: str, run: Run) -> float:
    """Messages a second that the official Consumer prints once it is warm; in a smoke run the first of all."""
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    words = [_CONSUMER, "-n", namesrv, "-t", _TOPIC, "-g", group, "-ri", "1000"]
    command = clients.java(path, run.folder, *words)
    if run.smoke:
        lines = clients.lines_for(command, clients.REPORT_SECONDS, last=_SOME)
        return _rates(lines)[-1]
    found = _rates(clients.lines_for(command, _CONSUMER_SECONDS), _WARM_UP_LINES)
    if found[-1] < found[0] / 2:
        raise RuntimeError(f"the backlog was too short: {found}")
    return statistics.median(found)


def _rates(lines: list[str], warm_up: int = 0) -> list[int]:
    """What the Consumer printed, but for its first lines."""
    found = [int(match[1]) for line in lines if (match := _LINE.search(line))][warm_up:]
    if not found:
        raise RuntimeError("the benchmark Consumer printed no rates:\n" + "\n".join(lines[-20:]))
    if not max(found):
        # A client that could not take up its queues looks again after 20 s.
        raise RuntimeError("the benchmark Consumer was given nothing:\n" + "\n".join(lines[:20]))
    return found


def forget_pages(folder: Path) -> None:
    """Ask the kernel to drop the files' pages; they have to be on disk already."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)


def measure(run: Run) -> str:
    """The table."""
    figures = Figures()
    for number, kind in run.turns():
        home = run.folder / f"{kind}-{number}"
        server = make(kind, home)
        server.start()
        try:
            fill(server.broker_addr, _TOPIC, 300_000 if run.smoke else _MESSAGES, _SIZE)
            rate = consume(server.namesrv_addr, "hot", run)
            figures.add("backlog hot, msg/s", kind, rate)
            server.stop()
            forget_pages(store_of(server))
            server.start()
            rate = consume(server.namesrv_addr, "cold", run)
            figures.add("backlog cold, msg/s", kind, rate)
        finally:
            server.stop()
            # The next one must not wait for this one's pages.
            shutil.rmtree(home, ignore_errors=True)
    head = f"{_MESSAGES:,} messages of {_SIZE} B in {_QUEUES} queues, one group from the beginning."
    return f"{head}\n\n{figures.table()}"
