"""A streaming query in a process of its own, for a test that kills it.

python -m compat_tests.spark.stages.query PATTERN FOLDER NAME=NAMESRV...
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from compat_tests.spark.stages.stage import is_haste, spark_session
from trimq.spark import RocketMQDataSource


def main(pattern: str, folder: Path, servers: list[str]) -> None:
    with spark_session() as spark:
        writers = [_writer(spark, pattern, folder, server) for server in servers]
        queries = [writer.start() for writer in writers]
        while True:
            try:
                spark.streams.awaitAnyTermination()
            except Exception as error:
                if not is_haste(error):
                    raise
            spark.streams.resetTerminated()
            # Each goes on from its checkpoint.
            queries = [
                query if query.isActive else writer.start()
                for query, writer in zip(queries, writers, strict=True)
            ]


def _writer(spark: Any, pattern: str, folder: Path, server: str) -> Any:
    # Queries that share a registration share a map of Spark's that is not made for it.
    spark.dataSource.register(RocketMQDataSource)
    name, _, namesrv = server.partition("=")
    messages = (
        spark.readStream.format("rocketmq")
        .option("namesrv", namesrv)
        .option("topicPattern", pattern)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "60")
        .option("columns", "topic,queueId,queueOffset,body")
        .load()
    )
    return (
        messages.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .trigger(processingTime="100 milliseconds")
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
