"""``python -m bench.spark``: rows a second; nothing else should run meanwhile."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.spark.jobs import (
    batch_read,
    drop_caches,
    java_pull,
    plain_read,
    store_read,
    stream_read,
    timed,
)
from bench.subjects import OURS, PURE, REAL, started, store_of
from spark.options import write_options
from spark.writing import send_all
from trimq.spark import session

TOPIC = "BenchSpark"
CONFIG = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
BATCH = 10_000


def main() -> None:
    """Fill a topic on each kind of server, read it in every way, print the medians."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=[REAL, PURE], choices=[REAL, OURS, PURE])
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--size", type=int, default=1024, help="bytes a body (1024)")
    parser.add_argument("--rounds", type=int, default=3)
    words = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    for kind in words.kinds:
        with tempfile.TemporaryDirectory(prefix="trimq-bench-") as folder:
            _one(kind, Path(folder), words)


def _one(kind: str, folder: Path, words: argparse.Namespace) -> None:
    home = folder / "java-home"
    home.mkdir()
    with started(kind, folder / "server") as server:
        count = _fill(server.namesrv_addr, words.messages, words.size)
        spark = session("local[2]", CONFIG)
        spark.sparkContext.setLogLevel("OFF")
        store = store_of(server)
        try:
            # The first job of a session compiles; it is not counted.
            batch_read(spark, server.namesrv_addr, TOPIC, endingOffsets="earliest")()
            rates = _rates(spark, server.namesrv_addr, store, count, words.rounds, folder, home)
        finally:
            spark.stop()
    print(f"\n# {kind}: {count} messages of {words.size} bytes, medians of {words.rounds}\n")
    for name, values in rates.items():
        print(f"{name:40} {statistics.median(values):14,.0f} messages a second")


def _rates(
    spark: Any, namesrv: str, store: Path, count: int, rounds: int, folder: Path, home: Path
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}

    def add(name: str, job: Callable[[], object]) -> None:
        rates.setdefault(name, []).append(timed(job, count))

    for number in range(rounds):
        for kind in ("lite", "plain"):
            rate = java_pull(namesrv, TOPIC, count, kind, home)
            rates.setdefault(f"Java pull consumer, {kind}", []).append(rate)
        add("rocketmq, read", batch_read(spark, namesrv, TOPIC))
        slim = "topic,queueId,queueOffset,tags"
        add("rocketmq, read without bodies", batch_read(spark, namesrv, TOPIC, columns=slim))
        checkpoint = folder / f"checkpoint-{number}"
        add("rocketmq, readStream", stream_read(spark, namesrv, TOPIC, checkpoint))
        add("rocketmq-store", store_read(spark, store, TOPIC))
        add("rocketmq-store without bodies", store_read(spark, store, TOPIC, columns=slim))
        add("plain read of the files", plain_read(store))
        drop_caches(store)
        add("rocketmq-store, from disk", store_read(spark, store, TOPIC))
        drop_caches(store)
        add("plain read of the files, from disk", plain_read(store))
    return rates


def _fill(namesrv: str, count: int, size: int) -> int:
    options = write_options({"namesrv": namesrv, "topic": TOPIC})

    def batches() -> Any:
        for start in range(0, count, BATCH):
            numbers = range(start, min(start + BATCH, count))
            yield pa.RecordBatch.from_pydict(
                {
                    "body": [os.urandom(8).hex().encode() * (size // 16 or 1) for _ in numbers],
                    "keys": [f"key-{number}" for number in numbers],
                    "tags": [f"Tag{number % 4}" for number in numbers],
                }
            )

    return send_all(batches(), options)


if __name__ == "__main__":
    main()
