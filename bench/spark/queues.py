"""``python -m bench.spark.queues``: seconds to plan and to count topics of many queues with few messages in each.

Nothing else should run meanwhile. Each count is a whole job of a session that has done one before; the first one
after the session's start is told apart, since it starts Spark's workers too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from bench.servers.subjects import OURS, PURE, REAL, started
from bench.spark.__main__ import CONFIG
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.topics import TopicConfig
from trimq.spark import session
from trimq.spark.options.parsing import read_options, write_options
from trimq.spark.reading.batch import RocketMQBatchReader
from trimq.spark.writing.batch import send_all

_TOPICS_AT_ONCE: Final = 200
_ROWS: Final = 10_000


def main() -> None:
    """Make the topics on each kind of server, send, plan and count."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark.queues", description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=[REAL, OURS], choices=[REAL, OURS, PURE])
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--queues", type=int, default=8, help="of each topic (8)")
    parser.add_argument("--each", type=int, default=8, help="messages of each topic (8)")
    parser.add_argument("--counts", type=int, default=2, help="counts after the first one (2)")
    words = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    for kind in words.kinds:
        with (
            tempfile.TemporaryDirectory(prefix="trimq-bench-") as folder,
            started(kind, Path(folder) / "server") as server,
        ):
            _one(kind, server.namesrv_addr, server.broker_addr, words)


def _one(kind: str, namesrv: str, broker: str, words: argparse.Namespace) -> None:
    names = [f"Queues{number:05}" for number in range(words.topics)]
    with BlockingAdminClient(namesrv) as admin:
        for at in range(0, len(names), _TOPICS_AT_ONCE):
            made = [
                TopicConfig(
                    topic_name=name, read_queue_nums=words.queues, write_queue_nums=words.queues
                )
                for name in names[at : at + _TOPICS_AT_ONCE]
            ]
            admin.put_topics(broker, made)
    rows = [{"topic": name, "body": b"x" * 100} for name in names * words.each]
    batches = (
        pa.RecordBatch.from_pylist(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)
    )
    stored = send_all(batches, write_options({"namesrv": namesrv})).stored
    assert stored == len(rows), stored
    given = {"namesrv": namesrv, "topicPattern": "Queues.*"}
    _tell(
        kind, "plan", lambda: len(RocketMQBatchReader(read_options(given), ["topic"]).partitions())
    )
    spark = session("local[2]", CONFIG)
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.read.format("rocketmq").options(**given)
    try:
        for number in range(words.counts + 1):
            name = "count" if number else "first count"
            _tell(kind, name, lambda: frame.load().count())
    finally:
        spark.stop()


def _tell(kind: str, name: str, job: Callable[[], int]) -> None:
    began = time.monotonic()
    found = job()
    print(f"{kind}: {name}: {found:,} in {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
