"""``python -m bench.spark``: messages a second; nothing else should run meanwhile.

With --write-docs what was measured replaces the section of docs/spark.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyspark

import trimq
from bench.pages.figures import Figures
from bench.servers.subjects import OURS, PURE, REAL, ROOT, started, store_of
from bench.spark.jobs import (
    batch_read,
    java_pull,
    plain_read,
    store_read,
    stream_read,
    timed,
)
from compat_tests.spark.stages.stage import Side
from trimq.spark import session
from trimq.spark.options.parsing import write_options
from trimq.spark.writing.batch import send_all

TOPIC = "BenchSpark"
CONFIG = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
BATCH = 10_000
PAGE: Final = ROOT / "docs" / "spark.md"
READ, STORE, PLAIN = "`rocketmq`, read", "`rocketmq-store`", "plain read of the files"
JAVA: Final = {kind: f"Java pull consumer, {kind}" for kind in ("lite", "plain")}


def main() -> None:
    """Fill a topic on each kind of server, read it in every way, print the medians."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=[REAL, PURE], choices=[REAL, OURS, PURE])
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--size", type=int, default=1024, help="bytes a body (1024)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write-docs", action="store_true", help="write docs/spark.md")
    words = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    figures = Figures()
    for kind in words.kinds:
        with tempfile.TemporaryDirectory(prefix="trimq-bench-") as folder:
            _one(kind, Path(folder), words, figures)
    text = _text(figures, words)
    print(text)
    if words.write_docs:
        section = f"<!-- bench -->\n{text}\n<!-- end bench -->"
        pattern = re.compile("<!-- bench -->.*<!-- end bench -->", re.DOTALL)
        PAGE.write_text(pattern.sub(lambda _: section, PAGE.read_text()))


def _one(kind: str, folder: Path, words: argparse.Namespace, figures: Figures) -> None:
    home = folder / "java-home"
    home.mkdir()
    with started(kind, folder / "server") as server:
        store = store_of(server)
        Side(server, store).create(TOPIC)
        count = _fill(server.namesrv_addr, words.messages, words.size)
        spark = session("local[2]", CONFIG)
        spark.sparkContext.setLogLevel("OFF")
        try:
            # The first job of a session compiles; it is not counted.
            batch_read(spark, server.namesrv_addr, TOPIC, startingOffsets="latest")()
            rates = _rates(spark, server.namesrv_addr, store, count, words.rounds, folder, home)
        finally:
            spark.stop()
    for name, values in rates.items():
        for value in values:
            figures.add(name, kind, value)


def _text(figures: Figures, words: argparse.Namespace) -> str:
    """The section: where it was measured, the medians, and what they are held against."""
    lines = [
        f"`{' '.join(['python -m bench.spark', *sys.argv[1:]])}`, {datetime.date.today().isoformat()},"
        f" {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python"
        f" {platform.python_version()}, Spark {pyspark.__version__} with `local[2]`, TriMQ"
        f" {trimq.__version__}.",
        "",
        f"Messages a second, medians of {words.rounds} rounds; {words.messages:,} messages of"
        f" {words.size} bytes, their files in the page cache. A plain read decodes nothing and hands"
        " nothing to a JVM.",
        "",
        figures.table(),
        "",
    ]
    for kind in words.kinds:
        of = {name: figures.median(name, kind) or 0 for name in (READ, STORE, PLAIN)}
        java = max(figures.median(name, kind) or 0 for name in JAVA.values())
        where = "the real broker" if kind == REAL else "TriMQ"
        lines.append(
            f"- {where}: the data source reads {of[READ] / java:.2f} times as fast as the faster Java"
            f" consumer, a plain read of the files is {of[PLAIN] / of[STORE]:.2f} times as fast as"
            " the store reader"
        )
    return "\n".join(lines)


def _rates(
    spark: Any, namesrv: str, store: Path, count: int, rounds: int, folder: Path, home: Path
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}

    def add(name: str, job: Callable[[], object]) -> None:
        rates.setdefault(name, []).append(timed(job, count))

    for number in range(rounds):
        for kind in JAVA:
            rate = java_pull(namesrv, TOPIC, count, kind, home)
            rates.setdefault(JAVA[kind], []).append(rate)
        add(READ, batch_read(spark, namesrv, TOPIC))
        slim = "topic,queueId,queueOffset,tags"
        add("`rocketmq`, read without bodies", batch_read(spark, namesrv, TOPIC, columns=slim))
        checkpoint = folder / f"checkpoint-{number}"
        add("`rocketmq`, readStream", stream_read(spark, namesrv, TOPIC, checkpoint))
        add(STORE, store_read(spark, store, TOPIC))
        add("`rocketmq-store` without bodies", store_read(spark, store, TOPIC, columns=slim))
        add(PLAIN, plain_read(store))
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

    stored = send_all(batches(), options).stored
    assert stored == count, stored
    return stored


if __name__ == "__main__":
    main()
