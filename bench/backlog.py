"""The official benchmark Consumer on a backlog, hot and cold, on both brokers: ``python -m bench.backlog``.

A topic is filled with batches; hot, it is read as it lies in the page cache; cold, the broker is started
anew and the kernel is asked to forget the store's pages first. The Consumer prints averages over ten
seconds, so it is the later lines that count, and the backlog has to last longer than it runs.
"""

import argparse
import os
import re
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench import clients, report
from bench.__main__ import KINDS, REAL_HEAP, Figures, medians
from codec.batch import BatchItem, join_batch
from codec.codes import RequestCode, ResponseCode
from codec.headers.send import SendMessageRequestHeaderV2
from compat_tests import artifacts
from compat_tests.ours import TrimqServer
from compat_tests.real import JvmLauncher, RealServer
from compat_tests.server import Options
from remoting.blocking import BlockingClient

_TOPIC = "BenchBacklog"
_QUEUES = 4
_BATCH = 100
_CONSUMER = "org.apache.rocketmq.example.benchmark.Consumer"
_LINE = re.compile(r"Consume TPS: (\d+)")
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


def consume(namesrv: str, group: str, seconds: int, home: Path) -> float:
    """Messages a second that the official Consumer prints once it is warm."""
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    words = [_CONSUMER, "-n", namesrv, "-t", _TOPIC, "-g", group, "-ri", "1000"]
    lines = clients.lines_for(clients.java(path, home, *words), seconds)
    found = [int(match[1]) for line in lines if (match := _LINE.search(line))][_WARM_UP_LINES:]
    if not found:
        raise RuntimeError("the benchmark Consumer printed no rates:\n" + "\n".join(lines[-20:]))
    if found[-1] < found[0] / 2:
        raise RuntimeError(f"the backlog was too short: {found}")
    return statistics.median(found)


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


def _measure(kind: str, arguments: argparse.Namespace, figures: Figures, root: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix=kind, dir=root))
    if kind == "real":
        real = RealServer(JvmLauncher(), home, heap=REAL_HEAP)
        server, store = real, real.broker.store
    else:
        ours = TrimqServer(home, Options())
        server, store = ours, ours.store
    server.start()
    try:
        fill(server.broker_addr, _TOPIC, arguments.messages, arguments.size)
        rate = consume(server.namesrv_addr, "hot", arguments.seconds, root)
        figures["backlog hot, msg/s"][kind].append(rate)
        server.stop()
        forget_pages(store)
        server.start()
        rate = consume(server.namesrv_addr, "cold", arguments.seconds, root)
        figures["backlog cold, msg/s"][kind].append(rate)
    finally:
        server.stop()


def main() -> None:
    """Parse, run the rounds, print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.backlog", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both brokers (3)")
    parser.add_argument(
        "--messages", type=int, default=3_000_000, help="in the backlog (3 million)"
    )
    parser.add_argument("--size", type=int, default=128, help="bytes of a body (128)")
    parser.add_argument("--seconds", type=int, default=22, help="how long the Consumer runs (22)")
    arguments = parser.parse_args()
    figures: Figures = defaultdict(lambda: defaultdict(list))
    for number in range(arguments.rounds):
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            print(f"round {number + 1} of {arguments.rounds}: {kind}", flush=True)
            with tempfile.TemporaryDirectory(prefix="trimq-backlog-") as folder:
                _measure(kind, arguments, figures, Path(folder))
    print(report.table(medians(figures)))


if __name__ == "__main__":
    main()
