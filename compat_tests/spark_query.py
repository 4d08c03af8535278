"""A streaming query in a process of its own, for a test that kills it.

python -m compat_tests.spark_query PATTERN FOLDER NAME=NAMESRV...
"""

from __future__ import annotations

import sys
from pathlib import Path

from compat_tests.spark_stage import spark_session


def main(pattern: str, folder: Path, servers: list[str]) -> None:
    with spark_session() as spark:
        for server in servers:
            name, _, namesrv = server.partition("=")
            messages = (
                spark.readStream.format("rocketmq")
                .option("namesrv", namesrv)
                .option("topicPattern", pattern)
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", "40")
                .option("columns", "topic,queueId,queueOffset,body")
                .load()
            )
            messages.writeStream.format("parquet").option("path", str(folder / name)).option(
                "checkpointLocation", str(folder / f"{name}-checkpoint")
            ).trigger(processingTime="100 milliseconds").start()
        spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
